import { picoUsd, usdOf } from '../../common/money.ts';
import type { Model } from '../catalog/catalog.ts';
import type { RunningUsage } from '../exchange/exchange-view.ts';

type Pricing = Model['pricing'];
type BilledTokens = Pick<
  RunningUsage,
  'prompt_tokens' | 'completion_tokens' | 'cached_tokens' | 'cache_creation_tokens'
>;

/** Prices per token. */
interface ExactPricing {
  readonly prompt: bigint;
  readonly completion: bigint;
  readonly cached: bigint;
  readonly creation: bigint;
}

const exactPricings = new WeakMap<Pricing, ExactPricing>();

function exactPricing(pricing: Pricing): ExactPricing {
  const known = exactPricings.get(pricing);
  if (known) return known;
  const { prompt, completion, input_cache_read = prompt, input_cache_write = prompt } = pricing;
  const made = {
    prompt: picoUsd(prompt),
    completion: picoUsd(completion),
    cached: picoUsd(input_cache_read),
    creation: picoUsd(input_cache_write),
  };
  exactPricings.set(pricing, made);
  return made;
}

/**
 * Cost of `usage` at `pricing`, as an exact decimal string: prices are decimal strings and tokens integers, so nothing is rounded (spec
 * 2.1). Tokens read from the
 * provider's cache and tokens written to it are part of the prompt's, and have their own prices if the model sets them.
 */
export function costOf(usage: Readonly<BilledTokens>, pricing: Pricing): string {
  const { prompt, completion, cached, creation } = exactPricing(pricing);
  const cached_tokens = Math.min(usage.cached_tokens, usage.prompt_tokens);
  const created_tokens = Math.min(usage.cache_creation_tokens ?? 0, usage.prompt_tokens - cached_tokens);
  return usdOf(
    BigInt(usage.prompt_tokens - cached_tokens - created_tokens) * prompt +
      BigInt(created_tokens) * creation +
      BigInt(cached_tokens) * cached +
      BigInt(usage.completion_tokens) * completion,
  );
}
