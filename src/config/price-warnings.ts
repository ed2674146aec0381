import { picoUsd, usdOf } from '../common/money.ts';
import type { ModelConfig } from '../common/options.ts';

/** The dearest price of a token that is believed: $1,000 per million tokens, ten times what any model costs. */
const dearest_pico_usd = picoUsd('0.001');

/** A warning for each price that is meant per million tokens, as providers print it, by its number of dollars. */
export function* priceWarnings(models: readonly Pick<ModelConfig, 'pricing'>[]): Generator<string> {
  for (const [at, { pricing }] of models.entries())
    for (const [name, price] of Object.entries(pricing)) {
      const pico_usd = picoUsd(price ?? '0');
      if (name === 'request' || pico_usd <= dearest_pico_usd) continue;
      const written = usdOf(pico_usd / 1_000_000n);
      yield `models[${at}].pricing.${name}: "${price}" is $${price} for one token; "${price}" per million tokens is written "${written}"`;
    }
}
