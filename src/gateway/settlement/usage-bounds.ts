import type { Model } from '../catalog/catalog.ts';
import type { Usage } from '../exchange/canonical.ts';

/** Context window, in tokens, of a model outside the catalog: the largest that any model has. */
const largest_window = 10_000_000;

/** The most tokens that one reply can have used. */
export interface UsageBounds {
  readonly prompt: number;
  readonly completion: number;
}

/** Bounds by the model's context window, which each of `prompts` fits into once and each of `choices` once (row o4). */
export function windowBounds(model: Model | undefined, choices: number, prompts = 1): UsageBounds {
  const window = model?.context_length ?? largest_window;
  return { prompt: window * prompts, completion: window * choices };
}

/** `usage` with the bound in place of each count above it; the same object if none is. */
export function boundedUsage(usage: Usage, { prompt, completion }: UsageBounds): Usage {
  const { prompt_tokens, completion_tokens, completion_tokens_details: details } = usage;
  const counts = details && Object.values(details);
  if (
    prompt_tokens <= prompt &&
    completion_tokens <= completion &&
    !counts?.some(count => Number(count) > completion)
  )
    return usage;
  const { cached_tokens, cache_creation_tokens: created = 0 } = usage.prompt_tokens_details;
  const input = Math.min(prompt_tokens, prompt);
  const output = Math.min(completion_tokens, completion);
  const cached = Math.min(cached_tokens, input);
  return {
    ...usage,
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: cached,
      ...(created > 0 && { cache_creation_tokens: Math.min(created, input - cached) }),
    },
    ...(details && { completion_tokens_details: boundedCounts(details, completion) }),
  };
}

const boundedCounts = (counts: object, most: number) =>
  Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, Math.min(Number(count), most)]));
