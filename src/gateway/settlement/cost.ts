import { picoUsd, usdOf } from '../../common/money.ts';
import type { Model } from '../catalog/catalog.ts';
import type { RunningUsage } from '../exchange/exchange-view.ts';

type Pricing = Model['pricing'];
type BilledTokens = Pick<
  RunningUsage,
  'prompt_tokens' | 'completion_tokens' | 'cached_tokens' | 'cache_creation_tokens'
>;

/** Prices per token, in 10⁻¹² dollars. */
type Prices = Readonly<Record<'prompt' | 'completion' | 'cached' | 'creation', bigint>>;
interface ExactPrices {
  readonly exact: Prices;
  /** The same rounded, where they are too large for numbers. */
  readonly rounded: Readonly<Record<keyof Prices, number>>;
}

const knownPrices = new WeakMap<Pricing, ExactPrices>();

function pricesOf(pricing: Pricing): ExactPrices {
  const known = knownPrices.get(pricing);
  if (known) return known;
  const { prompt, completion, input_cache_read = prompt, input_cache_write = prompt } = pricing;
  const exact = {
    prompt: picoUsd(prompt),
    completion: picoUsd(completion),
    cached: picoUsd(input_cache_read),
    creation: picoUsd(input_cache_write),
  };
  const rounded = {
    prompt: Number(exact.prompt),
    completion: Number(exact.completion),
    cached: Number(exact.cached),
    creation: Number(exact.creation),
  };
  const made = { exact, rounded };
  knownPrices.set(pricing, made);
  return made;
}

/**
 * Cost of `usage` at `pricing`, as an exact decimal string: prices are decimal strings and tokens integers, so nothing is rounded (spec
 * 2.1). Tokens read from the
 * provider's cache and tokens written to it are part of the prompt's, and have their own prices if the model sets them.
 */
export function costOf(usage: Readonly<BilledTokens>, pricing: Pricing): string {
  const { exact, rounded } = pricesOf(pricing);
  const { prompt_tokens, completion_tokens } = usage;
  const cached_tokens = Math.min(usage.cached_tokens, prompt_tokens);
  const created_tokens = Math.min(usage.cache_creation_tokens ?? 0, prompt_tokens - cached_tokens);
  const plain_tokens = prompt_tokens - cached_tokens - created_tokens;
  const pico_usd =
    plain_tokens * rounded.prompt +
    created_tokens * rounded.creation +
    cached_tokens * rounded.cached +
    completion_tokens * rounded.completion;
  // Nothing was rounded in a sum of whole numbers below 2^53.
  if (
    Number.isSafeInteger(pico_usd) &&
    Number.isInteger(prompt_tokens) &&
    Number.isInteger(completion_tokens)
  )
    return usdOf(pico_usd);
  return usdOf(
    BigInt(plain_tokens) * exact.prompt +
      BigInt(created_tokens) * exact.creation +
      BigInt(cached_tokens) * exact.cached +
      BigInt(completion_tokens) * exact.completion,
  );
}
