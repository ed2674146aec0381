import type { Model } from '../catalog/catalog.ts';
import type { RunningUsage } from '../exchange.ts';

type Pricing = Model['pricing'];
type BilledTokens = Pick<RunningUsage, 'prompt_tokens' | 'completion_tokens' | 'cached_tokens'>;

/** Prices of a model as integers of 10^-scale. */
interface ScaledPricing {
  readonly scale: number;
  readonly prompt: bigint;
  readonly completion: bigint;
  readonly cached: bigint;
}

const scaledPricings = new WeakMap<Pricing, ScaledPricing>();

const decimalsOf = (price: string): number => price.length - (price.indexOf('.') + 1 || price.length);

/** A decimal string as an integer of 10^-scale. */
function scaled(price: string, scale: number): bigint {
  return BigInt(price.replace('.', '')) * 10n ** BigInt(scale - decimalsOf(price));
}

function scaledPricing(pricing: Pricing): ScaledPricing {
  const known = scaledPricings.get(pricing);
  if (known) return known;
  const { prompt, completion, input_cache_read = prompt } = pricing;
  const scale = Math.max(...[prompt, completion, input_cache_read].map(decimalsOf));
  const made = {
    scale,
    prompt: scaled(prompt, scale),
    completion: scaled(completion, scale),
    cached: scaled(input_cache_read, scale),
  };
  scaledPricings.set(pricing, made);
  return made;
}

/**
 * What `usage` costs at `pricing`, as an exact decimal string: prices are decimal strings and tokens integers, so nothing is ever
 * rounded (spec 2.1). Cached tokens are a part of the prompt's, at their own price where the model has one.
 */
export function costOf(usage: Readonly<BilledTokens>, pricing: Pricing): string {
  const { scale, prompt, completion, cached } = scaledPricing(pricing);
  const cached_tokens = Math.min(usage.cached_tokens, usage.prompt_tokens);
  const total =
    BigInt(usage.prompt_tokens - cached_tokens) * prompt +
    BigInt(cached_tokens) * cached +
    BigInt(usage.completion_tokens) * completion;
  return decimalString(total, scale);
}

/** An integer of 10^-scale as a decimal string without needless zeros. */
function decimalString(value: bigint, scale: number): string {
  if (scale === 0) return value.toString();
  const digits = value.toString().padStart(scale + 1, '0');
  const fraction = digits.slice(-scale).replace(/0+$/, '');
  const whole = digits.slice(0, -scale);
  return fraction === '' ? whole : `${whole}.${fraction}`;
}
