import { isObject } from '../../common/json-object.ts';

/** Why a provider refuses a request that another model may take. */
export type RefusalKind = 'context_length' | 'content_filter';

/** Characters that are looked at. */
const max_characters = 2000;

/** In codes, types and messages of OpenAI, Azure, Anthropic, Google, Mistral, xAI, Bedrock, OpenRouter, vLLM, SGLang, TGI and llama.cpp. */
const words: readonly (readonly [RefusalKind, RegExp])[] = [
  [
    'context_length',
    /context_length|exceed_context_size|context (?:length|window|size|limit)|(?:prompt|input) is too long|maximum prompt length|too many (?:input )?tokens|input token count|`inputs` (?:tokens|must have less)/i,
  ],
  [
    'content_filter',
    /content_filter|content_policy|content management policy|safety system|moderation|was flagged|guardrail|request blocked|prohibited_content/i,
  ],
];

/** The kind of refusal that an error speaks of, by its message and the code and type in its body. */
export function refusalKindOf(message: string | undefined, body?: unknown): RefusalKind | undefined {
  const { error = body } = isObject(body) ? body : {};
  const { code, type } = isObject(error) ? error : {};
  const text = `${code}\n${type}\n${message}`.slice(0, max_characters);
  return words.find(([, pattern]) => pattern.test(text))?.[0];
}
