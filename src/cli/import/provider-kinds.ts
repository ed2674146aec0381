import { serverKinds } from '../init/server-kinds.ts';

/** How a provider of another gateway is spoken to. */
export interface ProviderKind {
  readonly adapter: string;
  /** Where its API is, unless the configuration says so. */
  readonly base_url?: string | undefined;
  /** The variable that other gateways take its key from. */
  readonly key_env?: string | undefined;
}

/** One whose adapter has a usual address and variable. */
const usual = (adapter: string, own: Partial<ProviderKind> = {}): ProviderKind => {
  const { base_url, key_env } = serverKinds.find(kind => kind.adapter === adapter)!;
  return { adapter, base_url, key_env, ...own };
};

/** A server that speaks OpenAI's chat completions. */
const compatible = (base_url?: string, key_env?: string): ProviderKind => ({
  adapter: 'openai',
  base_url,
  key_env,
});

/** The providers that are served here, by the names that LiteLLM has for them. */
const kinds: Readonly<Record<string, ProviderKind>> = {
  openai: usual('openai'),
  'text-completion-openai': usual('openai'),
  azure: { adapter: 'azure', key_env: 'AZURE_API_KEY' },
  azure_ai: compatible(undefined, 'AZURE_AI_API_KEY'),
  anthropic: usual('anthropic'),
  gemini: usual('gemini'),
  vertex_ai: { adapter: 'vertex', key_env: 'VERTEX_ACCESS_TOKEN' },
  bedrock: { adapter: 'bedrock', key_env: 'AWS_BEARER_TOKEN_BEDROCK' },
  openrouter: usual('openrouter'),
  groq: usual('groq'),
  mistral: usual('mistral'),
  codestral: usual('mistral', { base_url: 'https://codestral.mistral.ai/v1', key_env: 'CODESTRAL_API_KEY' }),
  deepseek: usual('deepseek'),
  together_ai: usual('together', { key_env: 'TOGETHERAI_API_KEY' }),
  fireworks_ai: usual('fireworks'),
  xai: usual('xai'),
  cerebras: usual('cerebras'),
  hosted_vllm: { adapter: 'vllm' },
  vllm: { adapter: 'vllm' },
  ollama: usual('ollama'),
  ollama_chat: usual('ollama'),
  lm_studio: usual('lm-studio'),
  llamafile: usual('llama-cpp'),
  huggingface: compatible('https://router.huggingface.co/v1', 'HUGGINGFACE_API_KEY'),
  cohere: compatible('https://api.cohere.ai/compatibility/v1', 'COHERE_API_KEY'),
  cohere_chat: compatible('https://api.cohere.ai/compatibility/v1', 'COHERE_API_KEY'),
  perplexity: compatible('https://api.perplexity.ai', 'PERPLEXITYAI_API_KEY'),
  deepinfra: compatible('https://api.deepinfra.com/v1/openai', 'DEEPINFRA_API_KEY'),
  nvidia_nim: compatible('https://integrate.api.nvidia.com/v1', 'NVIDIA_NIM_API_KEY'),
  sambanova: compatible('https://api.sambanova.ai/v1', 'SAMBANOVA_API_KEY'),
  meta_llama: compatible('https://api.llama.com/compat/v1', 'LLAMA_API_KEY'),
  github: compatible('https://models.inference.ai.azure.com', 'GITHUB_API_KEY'),
  friendliai: compatible('https://api.friendli.ai/serverless/v1', 'FRIENDLI_TOKEN'),
  volcengine: compatible('https://ark.cn-beijing.volces.com/api/v3', 'VOLCENGINE_API_KEY'),
  moonshot: compatible('https://api.moonshot.ai/v1', 'MOONSHOT_API_KEY'),
  dashscope: compatible('https://dashscope-intl.aliyuncs.com/compatible-mode/v1', 'DASHSCOPE_API_KEY'),
  litellm_proxy: compatible(undefined, 'LITELLM_PROXY_API_KEY'),
  openai_like: compatible(),
  custom_openai: compatible(),
};

/** Further names, of Portkey above all, as LiteLLM has them. */
const otherNames: Readonly<Record<string, string>> = {
  vertex_ai_beta: 'vertex_ai',
  bedrock_converse: 'bedrock',
  'azure-openai': 'azure',
  'azure-ai': 'azure_ai',
  google: 'gemini',
  'vertex-ai': 'vertex_ai',
  'mistral-ai': 'mistral',
  'together-ai': 'together_ai',
  'fireworks-ai': 'fireworks_ai',
  'perplexity-ai': 'perplexity',
  'x-ai': 'xai',
  nvidia: 'nvidia_nim',
  'lm-studio': 'lm_studio',
};

/** How a provider is spoken to, by its name in another gateway; undefined for one that is not served here. */
export function providerKind(name: string): ProviderKind | undefined {
  const known = Object.hasOwn(otherNames, name) ? otherNames[name]! : name;
  return Object.hasOwn(kinds, known) ? kinds[known] : undefined;
}

/** All names that `providerKind` knows. */
export const providerNames: readonly string[] = [...Object.keys(kinds), ...Object.keys(otherNames)];
