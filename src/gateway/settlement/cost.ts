import { picoUsd, usdOf } from '../../common/money.ts';
import type { Model } from '../catalog/catalog.ts';
import type { RunningUsage } from '../exchange/exchange-view.ts';

type Pricing = Model['pricing'];
type BilledTokens = Pick<
  RunningUsage,
  'prompt_tokens' | 'completion_tokens' | 'cached_tokens' | 'cache_creation_tokens'
> & { readonly completion_details?: RunningUsage['completion_details'] };

/** Prices in 10⁻¹² dollars: per token of the prompt, of what is written to the provider's cache and read from it, of the completion; per search. */
type Prices<N> = readonly [plain: N, created: N, cached: N, completion: N, search: N];

const knownPrices = new WeakMap<
  Pricing,
  { readonly exact: Prices<bigint>; readonly rounded: Prices<number> }
>();

function pricesOf(pricing: Pricing) {
  const known = knownPrices.get(pricing);
  if (known) return known;
  const {
    prompt,
    completion,
    input_cache_read = prompt,
    input_cache_write = prompt,
    web_search = '0',
  } = pricing;
  const exact = [prompt, input_cache_write, input_cache_read, completion, web_search].map(picoUsd);
  const made = {
    exact: exact as unknown as Prices<bigint>,
    rounded: exact.map(Number) as unknown as Prices<number>,
  };
  knownPrices.set(pricing, made);
  return made;
}

/**
 * Cost of `usage` at `pricing`, as an exact decimal string: prices are decimal strings and tokens integers, so nothing is rounded (spec
 * 2.1). Tokens read from the provider's cache and tokens written to it are part of the prompt's, and have their own prices if the model
 * sets them.
 */
export function costOf(usage: Readonly<BilledTokens>, pricing: Pricing): string {
  const { exact, rounded } = pricesOf(pricing);
  const { prompt_tokens, completion_tokens, cache_creation_tokens = 0 } = usage;
  const cached = Math.min(usage.cached_tokens, prompt_tokens);
  const created = Math.min(cache_creation_tokens, prompt_tokens - cached);
  const plain = prompt_tokens - cached - created;
  const told = usage.completion_details?.web_search_requests;
  const searches = Number.isSafeInteger(told) ? (told as number) : 0;
  const pico_usd =
    plain * rounded[0] +
    created * rounded[1] +
    cached * rounded[2] +
    completion_tokens * rounded[3] +
    searches * rounded[4];
  // Nothing was rounded in a sum of whole numbers below 2^53.
  const isExact = Number.isSafeInteger(pico_usd) && Number.isInteger(prompt_tokens + completion_tokens);
  if (isExact) return usdOf(pico_usd);
  const counts = [plain, created, cached, completion_tokens, searches];
  return usdOf(counts.reduce((sum, count, at) => sum + BigInt(count) * exact[at]!, 0n));
}

/** The same with the price of a call, if there is one: nothing was billed for a call without tokens unless it `isAnswered`. */
export function callCostOf(usage: Readonly<BilledTokens>, pricing: Pricing, isAnswered: boolean): string {
  const cost = costOf(usage, pricing);
  const isFree = usage.prompt_tokens + usage.completion_tokens === 0 && !isAnswered;
  return pricing.request === undefined || isFree ? cost : usdOf(picoUsd(cost) + picoUsd(pricing.request));
}
