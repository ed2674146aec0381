import { isObject, type Json } from '../../../common/json-object.ts';
import { tokenCount, type Usage, usageOf } from '../../exchange/canonical.ts';

/** Usage of an OpenAI reply or event in the canonical form; `undefined` if the server's figures are incomplete. */
export function readUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  // Incomplete usage would be billed as if it were exact, and no estimate would replace it.
  const prompt_tokens = tokenCount(value.prompt_tokens);
  const completion_tokens = tokenCount(value.completion_tokens);
  if (prompt_tokens === undefined || completion_tokens === undefined) return undefined;
  const completion = completionDetails(value);
  // Reasoning that is in the total alone, as xAI and Gemini have it, is generated and billed like the rest (row o4).
  const generated = Math.max(completion_tokens, (tokenCount(value.total_tokens) ?? 0) - prompt_tokens);
  const { cached, created } = cacheTokens(value, prompt_tokens);
  return usageOf(prompt_tokens, generated, cached, completion, created);
}

/** Names of the tokens that were read from a cache: those of OpenAI and others, DeepSeek, Moonshot, and LiteLLM. */
const read_names = [
  'cached_tokens',
  'prompt_cache_hit_tokens',
  'cache_read_tokens',
  'cache_read_input_tokens',
];
/** Names of the tokens that were written to one: those of OpenRouter, and of LiteLLM and Alibaba. */
const write_names = ['cache_write_tokens', 'cache_creation_tokens', 'cache_creation_input_tokens'];

/** Tokens of the prompt that were read from a cache and written to one, under any server's names. */
export function cacheTokens(usage: Json, prompt_tokens: number) {
  const cached = Math.min(greatest(usage, read_names), prompt_tokens);
  const created = Math.min(greatest(usage, write_names), prompt_tokens - cached);
  return { cached, created: created || undefined };
}

/** The greatest figure of these names, in the breakdown of the prompt or beside it. */
function greatest(usage: Json, names: readonly string[]): number {
  const { prompt_tokens_details: prompt, input_tokens_details: input } = usage;
  let most = 0;
  for (const figures of [usage, prompt, input] as (Json | null | undefined)[]) {
    // What is no object has none of the names.
    if (figures === undefined || figures === null) continue;
    for (let at = 0; at < names.length; at++) {
      const figure = figures[names[at]!];
      if (figure !== undefined) most = Math.max(most, tokenCount(figure) ?? 0);
    }
  }
  return most;
}

/** Breakdown of completion tokens. SGLang counts reasoning beside the other figures, all other servers in the breakdown. */
function completionDetails({ completion_tokens_details: details, reasoning_tokens }: Json) {
  const counts = details !== undefined && isObject(details) ? countsOf(details) : undefined;
  const beside = reasoning_tokens === undefined ? undefined : tokenCount(reasoning_tokens);
  return beside ? { reasoning_tokens: beside, ...counts } : counts;
}

/** Figures kept of a breakdown. No server has more, and it is written with every chunk of running usage. */
const max_details = 32;

/** The upstream's breakdown goes to clients and metrics as it is, so nothing but numbers may be in it. */
const countsOf = (details: Json): Record<string, number> =>
  Object.fromEntries(
    Object.entries(details)
      .filter((entry): entry is [string, number] => tokenCount(entry[1]) !== undefined)
      .slice(0, max_details),
  );
