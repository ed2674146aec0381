import { tokenCount, type Usage, usageOf } from '../../canonical.ts';
import { asObject, isObject, type Json } from '../../json-object.ts';
import { cacheTokens, readUsage } from '../openai/openai-usage.ts';

/**
 * Usage that a reply reports under any server's names: `usage` of embeddings, completions and rerankers, or the token counts of Cohere's
 * `meta`. Undefined if there is none, or one of its figures is no count: none of the others would be believed.
 */
export function reportedUsage({ usage, meta }: Json): Usage | undefined {
  if (isObject(usage)) return countsIn(usage);
  const { billed_units, tokens } = asObject(meta);
  return countsIn(asObject(billed_units)) ?? countsIn(asObject(tokens));
}

function countsIn(figures: Json): Usage | undefined {
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
  // Embeddings and rerankers generate nothing, and some of them report the total alone.
  if (prompt === undefined && total === undefined) return undefined;
  const generated = completion ?? Math.max(0, (total ?? 0) - (prompt ?? total ?? 0));
  const input = (prompt ?? Math.max(0, total! - generated)) + tokensBeside(figures);
  const { cached, created } = cacheTokens(figures, input);
  return usageOf(input, generated, cached, undefined, created);
}

/** Tokens of the prompt that Anthropic does not count among its `input_tokens`: those of its cache. */
function tokensBeside({ prompt_tokens, total_tokens, ...figures }: Json): number {
  if (prompt_tokens != null || total_tokens != null) return 0;
  const { cache_read_input_tokens: read, cache_creation_input_tokens: created } = figures;
  return (tokenCount(read) ?? 0) + (tokenCount(created) ?? 0);
}
