import { asObject, isObject, type Json } from '../../common/json-object.ts';
import { tokenCount, type Usage, usageOf } from '../../gateway/exchange/canonical.ts';
import { cacheTokens, readUsage } from '../../gateway/upstream/openai/openai-usage.ts';

/** Members of a reply itself that have counts: `usageMetadata` of Gemini, and the figures of Ollama and of llama.cpp. */
export const countNames = [
  'usageMetadata',
  'prompt_eval_count',
  'eval_count',
  'tokens_evaluated',
  'tokens_predicted',
] as const;

/**
 * Usage that a reply, or one event of it, reports under any server's names. Undefined if there is none, or one of its figures is no count:
 * none of the others would be believed. Figures of an event that has only some of them are put over those `before`.
 */
export function reportedUsage(reply: Json, before?: Usage): Usage | undefined {
  // Responses, Anthropic's messages and Cohere's chats have them one level deeper in events.
  for (const holder of [reply, reply.response, reply.message, reply.delta]) {
    const usage = isObject(holder) ? usageIn(holder, before) : undefined;
    if (usage) return usage;
  }
  return undefined;
}

function usageIn(
  { usage, meta, usageMetadata, ...reply }: Json,
  before: Usage | undefined,
): Usage | undefined {
  const { billed_units, tokens } = asObject(isObject(usage) ? usage : meta);
  const isCohere = isObject(billed_units) || isObject(tokens);
  if (isObject(usage) && !isCohere) return countsIn(usage, before);
  if (isCohere) return countsIn(asObject(billed_units), before) ?? countsIn(asObject(tokens), before);
  if (isObject(usageMetadata)) return countsIn(namesOfGemini(usageMetadata), before);
  const prompt_tokens = reply.prompt_eval_count ?? reply.tokens_evaluated;
  const completion_tokens = reply.eval_count ?? reply.tokens_predicted;
  return countsIn({ prompt_tokens, completion_tokens }, before);
}

const namesOfGemini = (figures: Json): Json => ({
  prompt_tokens: figures.promptTokenCount,
  completion_tokens: figures.candidatesTokenCount,
  total_tokens: figures.totalTokenCount,
  cached_tokens: figures.cachedContentTokenCount,
});

function countsIn(figures: Json, before: Usage | undefined): Usage | undefined {
  const told = readUsage(figures);
  if (told) return told;
  const given = [
    figures.prompt_tokens ?? figures.input_tokens,
    figures.completion_tokens ?? figures.output_tokens,
    figures.total_tokens,
  ];
  const [prompt, completion, total] = given.map(tokenCount);
  if (given.some((value, at) => value != null && [prompt, completion, total][at] === undefined))
    return undefined;
  if (prompt === undefined && total === undefined) return completedOf(before, completion);
  // Embeddings and rerankers generate nothing, and some of them report the total alone.
  const generated = Math.max(completion ?? 0, (total ?? 0) - (prompt ?? total ?? 0));
  const input = (prompt ?? Math.max(0, total! - generated)) + tokensBeside(figures);
  const { cached, created } = cacheTokens(figures, input);
  return usageOf(input, generated, cached, undefined, created);
}

/** The usage `before` with another count of the completion, as Anthropic's events have it. */
function completedOf(before: Usage | undefined, completion: number | undefined): Usage | undefined {
  if (!before || completion === undefined) return undefined;
  return { ...before, completion_tokens: completion, total_tokens: before.prompt_tokens + completion };
}

/** Tokens of the prompt that Anthropic does not count among its `input_tokens`: those of its cache. */
function tokensBeside({ prompt_tokens, total_tokens, ...figures }: Json): number {
  if (prompt_tokens != null || total_tokens != null) return 0;
  const { cache_read_input_tokens: read, cache_creation_input_tokens: created } = figures;
  return (tokenCount(read) ?? 0) + (tokenCount(created) ?? 0);
}
