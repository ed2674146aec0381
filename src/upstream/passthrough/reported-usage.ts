import { tokenCount, type Usage, usageOf } from '../../canonical.ts';
import { asObject, isObject, type Json } from '../../json-object.ts';

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
  const details = asObject(figures.prompt_tokens_details ?? figures.input_tokens_details);
  const input = prompt ?? Math.max(0, total! - generated);
  return usageOf(input, generated, tokenCount(details.cached_tokens));
}
