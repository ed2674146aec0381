import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Registry } from 'prom-client';
import { picoUsd, usdOf } from '../../../../src/common/money.ts';
import { usageOf } from '../../../../src/gateway/exchange/canonical.ts';
import type { Exchange } from '../../../../src/gateway/exchange/exchange.ts';
import { settle } from '../../../../src/gateway/settlement/settle.ts';
import { paidUsdOf } from '../../../../src/mount/paid-usd.ts';
import { Metrics } from '../../../../src/telemetry/metrics.ts';
import { sampleExchange } from '../../sample-exchange.ts';

const cheap = { prompt: '0.000001', completion: '0.000002' };
const dear = { prompt: '0.00001', completion: '0.00002', request: '0.5' };

/** An exchange that has used 7 and 5 tokens, after attempts at these prices. */
function exchangeAt(prices: readonly (typeof cheap | undefined)[]) {
  const exchange = sampleExchange({ request: {}, model: {} });
  Object.assign(exchange.usage, { prompt_tokens: 7, completion_tokens: 5, estimated: false });
  const attempts = prices.map(paid_prices => exchange.beginAttempt({ provider: 'a', paid_prices }));
  return { exchange, attempts };
}

const settled = (exchange: Exchange) =>
  settle(exchange, { metrics: new Metrics(new Registry()), paidUsdOf, log_sample: 1 });

describe('what the providers of an exchange are paid', () => {
  it('is the price of the upstream that was asked, not the one that is billed', () => {
    const { exchange, attempts } = exchangeAt([cheap]);
    attempts[0]!.ended('completed');
    exchange.model = { ...exchange.model!, pricing: dear, has_paid_prices: true };
    const { cost_usd, paid_usd } = settled(exchange);
    expect([cost_usd, paid_usd]).toEqual(['0.50017', '0.000017']);
  });

  it('is unknown of a model without such prices, and of an upstream without', () => {
    expect(settled(exchangeAt([cheap]).exchange).paid_usd).toBeUndefined();
    expect(paidUsdOf(exchangeAt([cheap, undefined]).exchange)).toBeUndefined();
  });

  it('is nothing when a stage has answered', () => {
    expect(paidUsdOf(exchangeAt([]).exchange)).toBe('0');
  });

  it('has what an attempt that another followed is known to have used, also at an unknown price', () => {
    const { exchange, attempts } = exchangeAt([dear, cheap]);
    expect(paidUsdOf(exchange)).toBe('0.000017');
    attempts[0]!.used = usageOf(100, 0);
    expect(paidUsdOf(exchange)).toBe('0.501017');
    const unknown = exchangeAt([undefined, cheap]);
    expect(paidUsdOf(unknown.exchange)).toBe('0.000017');
    unknown.attempts[0]!.used = usageOf(100, 0);
    expect(paidUsdOf(unknown.exchange)).toBeUndefined();
  });

  it('counts tokens that cannot be as the context window', () => {
    const { exchange, attempts } = exchangeAt([cheap, cheap]);
    exchange.model = { ...exchange.model!, context_length: 1000 };
    attempts[0]!.used = usageOf(1e15, 0);
    expect(paidUsdOf(exchange)).toBe('0.001017');
  });

  it('is the exact sum over all attempts', () => {
    const tokens = fc.nat({ max: 100_000 });
    fc.assert(
      fc.property(fc.array(fc.record({ prompt: tokens, completion: tokens }), { maxLength: 5 }), used => {
        const { exchange, attempts } = exchangeAt([...used.map(() => cheap), cheap]);
        for (const [at, { prompt, completion }] of used.entries())
          attempts[at]!.used = usageOf(prompt, completion);
        const all = [...used, { prompt: 7, completion: 5 }];
        const pico = all.reduce(
          (sum, { prompt, completion }) =>
            sum + BigInt(prompt) * picoUsd(cheap.prompt) + BigInt(completion) * picoUsd(cheap.completion),
          0n,
        );
        expect(paidUsdOf(exchange)).toBe(usdOf(pico));
      }),
    );
  });
});
