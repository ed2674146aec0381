import { picoUsd, usdOf } from '../common/money.ts';
import type { ModelConfig } from '../common/options.ts';

/** The dearest price of a token that is believed: $1,000 per million tokens, ten times what any model costs. */
const dearest_pico_usd = picoUsd('0.001');

/** A warning for each price that is meant per million tokens, as providers print it, by its number of dollars. */
export function* priceWarnings(models: readonly PricedModel[]): Generator<string> {
  for (const [at, { pricing, upstreams = [] }] of models.entries()) {
    yield* warningsOf(at, 'pricing', pricing);
    for (const [index, { paid_prices }] of upstreams.entries())
      yield* warningsOf(at, `upstreams[${index}].paid_prices`, paid_prices ?? {});
  }
}

type PricedModel = Pick<ModelConfig, 'pricing'> & {
  readonly upstreams?: readonly Pick<ModelConfig['upstreams'][number], 'paid_prices'>[] | undefined;
};

function* warningsOf(at: number, field: string, prices: Partial<ModelConfig['pricing']>): Generator<string> {
  for (const [name, price] of Object.entries(prices)) {
    const pico_usd = picoUsd(price ?? '0');
    if (name === 'request' || pico_usd <= dearest_pico_usd) continue;
    const written = usdOf(pico_usd / 1_000_000n);
    yield `models[${at}].${field}.${name}: "${price}" is $${price} for one token; "${price}" per million tokens is written "${written}"`;
  }
}
