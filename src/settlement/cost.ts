import type { Model } from '../catalog/catalog.ts';
import type { RunningUsage } from '../exchange/exchange-view.ts';
import { picoUsd, usdOf } from '../money.ts';

type Pricing = Model['pricing'];
type BilledTokens = Pick<RunningUsage, 'prompt_tokens' | 'completion_tokens' | 'cached_tokens'>;

/** Prices per token. */
interface ExactPricing {
  readonly prompt: bigint;
  readonly completion: bigint;
  readonly cached: bigint;
}

const exactPricings = new WeakMap<Pricing, ExactPricing>();

function exactPricing(pricing: Pricing): ExactPricing {
  const known = exactPricings.get(pricing);
  if (known) return known;
  const { prompt, completion, input_cache_read = prompt } = pricing;
  const made = {
    prompt: picoUsd(prompt),
    completion: picoUsd(completion),
    cached: picoUsd(input_cache_read),
  };
  exactPricings.set(pricing, made);
  return made;
}

/**
 * Cost of `usage` at `pricing`, as an exact decimal string: prices are decimal strings and tokens integers, so nothing is rounded (spec
 * 2.1). Cached tokens are part of the prompt's, and have their own price if the model sets one.
 */
export function costOf(usage: Readonly<BilledTokens>, pricing: Pricing): string {
  const { prompt, completion, cached } = exactPricing(pricing);
  const cached_tokens = Math.min(usage.cached_tokens, usage.prompt_tokens);
  return usdOf(
    BigInt(usage.prompt_tokens - cached_tokens) * prompt +
      BigInt(cached_tokens) * cached +
      BigInt(usage.completion_tokens) * completion,
  );
}
