import { presets } from '../../../plugins/providers/presets/table.ts';

/** A kind of server that a configuration can begin with. */
export interface ServerKind {
  readonly adapter: string;
  /** As it is called in questions. */
  readonly title: string;
  /** Where its API usually is. */
  readonly base_url: string;
  /** The usual variable with the key; undefined where servers usually have none. */
  readonly key_env: string | undefined;
  /** Names of models that answer no chat completions, where the server lists such. */
  readonly no_chat?: RegExp;
}

/** In the order in which they are offered. */
export const serverKinds: readonly ServerKind[] = [
  { adapter: 'vllm', title: 'vLLM', base_url: 'http://127.0.0.1:8000/v1', key_env: undefined },
  { adapter: 'sglang', title: 'SGLang', base_url: 'http://127.0.0.1:30000/v1', key_env: undefined },
  { adapter: 'llama-cpp', title: 'llama.cpp', base_url: 'http://127.0.0.1:8080/v1', key_env: undefined },
  {
    adapter: 'openrouter',
    title: 'OpenRouter',
    base_url: 'https://openrouter.ai/api/v1',
    key_env: 'OPENROUTER_API_KEY',
  },
  {
    adapter: 'openai',
    title: 'OpenAI, or another server that speaks its API',
    base_url: 'https://api.openai.com/v1',
    key_env: 'OPENAI_API_KEY',
    no_chat:
      /embedding|whisper|tts|dall-e|moderation|gpt-image|chatgpt-image|realtime|audio|transcribe|sora|davinci|babbage|instruct|search-api|deep-research|codex-mini|computer-use/,
  },
  {
    adapter: 'anthropic',
    title: 'Anthropic',
    base_url: 'https://api.anthropic.com/v1',
    key_env: 'ANTHROPIC_API_KEY',
  },
  ...presets.flatMap(({ name: adapter, title, base_url, key_env }) =>
    base_url === undefined ? [] : [{ adapter, title, base_url, key_env }],
  ),
];

/** The address of an API from what people write: `http://gpu:8000` means its `/v1`. Undefined for what is none. */
export function apiAddress(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, origin, pathname, search, hash, username, password } = new URL(text);
  if (!/^https?:$/.test(protocol) || search + hash + username + password !== '') return undefined;
  const path = pathname.replace(/\/+$/, '');
  return origin + (path === '' ? '/v1' : path);
}
