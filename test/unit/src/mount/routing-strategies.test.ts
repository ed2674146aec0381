import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { uniform } from '../../../../src/gateway/upstream/routing/draw-upstream.ts';
import { Latency } from '../../../../src/gateway/upstream/routing/upstream.ts';
import { lowestCost, lowestLatency, strategyOf } from '../../../../src/mount/routing-strategies.ts';

const candidate = (more: object = {}) => ({
  weight: 1,
  seed: 0,
  in_flight: 0,
  latency_ms: undefined as number | undefined,
  upstream: {},
  ...more,
});
const priced = (prompt: string, completion: string) =>
  candidate({ upstream: { paid_prices: { prompt, completion } } });
/** Numbers as if they were random, the same in every run. */
const draws = (seed = 1) => {
  let state = seed * 7919;
  return () => uniform(state++);
};

describe('lowest_cost', () => {
  it('chooses the cheapest, and what has no price only where nothing has one', () => {
    const [dear, cheap, unknown] = [
      priced('0.000003', '0.00001'),
      priced('0.000001', '0.00001'),
      candidate(),
    ];
    expect(lowestCost([dear, unknown, cheap], draws())).toBe(cheap);
    expect(lowestCost([unknown, dear], draws())).toBe(dear);
    expect(lowestCost([unknown], draws())).toBe(unknown);
  });

  it('never chooses one that costs more in both prices than another', () => {
    const price = fc.nat({ max: 999_999 }).map(units => `0.${String(units).padStart(6, '0')}`);
    const some = fc.array(
      fc.tuple(price, price).map(prices => priced(...prices)),
      { minLength: 1, maxLength: 8 },
    );
    fc.assert(
      fc.property(some, fc.nat(), (candidates, seed) => {
        const chosen = lowestCost(candidates, draws(seed)).upstream as ReturnType<typeof priced>['upstream'];
        const { prompt, completion } = (chosen as { paid_prices: Record<string, string> }).paid_prices;
        for (const { upstream } of candidates) {
          const other = (upstream as { paid_prices: Record<string, string> }).paid_prices;
          const isCheaper =
            Number(other.prompt) < Number(prompt) && Number(other.completion) < Number(completion);
          expect(isCheaper).toBe(false);
        }
      }),
    );
  });

  it('divides requests among those that cost the same', () => {
    const two = [priced('0.1', '0.2'), priced('0.1', '0.2')];
    const random = draws();
    const chosen = Array.from({ length: 200 }, () => two.indexOf(lowestCost(two, random)));
    expect(chosen.filter(at => at === 0).length).toBeGreaterThan(60);
    expect(chosen.filter(at => at === 1).length).toBeGreaterThan(60);
  });
});

/** Requests one after another, each `every_ms`, to upstreams that take as long as `took` says at that time. */
function simulated(
  took: (at: number, elapsed_ms: number) => number,
  count: number,
  requests: number,
  every_ms = 100,
) {
  const latencies = Array.from({ length: count }, () => new Latency());
  const running: { at: number; ends_ms: number; took_ms: number }[] = [];
  const random = draws();
  const chosen: number[] = [];
  for (let request = 0; request < requests; request++) {
    const now_ms = request * every_ms;
    for (const one of running.filter(({ ends_ms }) => ends_ms <= now_ms)) {
      latencies[one.at]!.observe(one.took_ms, one.ends_ms);
      running.splice(running.indexOf(one), 1);
    }
    const candidates = latencies.map((latency, at) =>
      candidate({
        latency_ms: latency.recent_ms(now_ms),
        in_flight: running.filter(one => one.at === at).length,
        upstream: { at },
      }),
    );
    const { at } = lowestLatency(candidates, random).upstream as { at: number };
    const took_ms = took(at, now_ms);
    running.push({ at, ends_ms: now_ms + took_ms, took_ms });
    chosen.push(at);
  }
  return (at: number, from: number, until: number) =>
    chosen.slice(from, until).filter(one => one === at).length / (until - from);
}

describe('lowest_latency', () => {
  it('sends nearly all requests to the fastest', () => {
    const share = simulated(at => [300, 100, 900][at]!, 3, 3000);
    expect(share(1, 100, 3000)).toBeGreaterThan(0.9);
  });

  it('leaves one that has become slow, and finds it again when it no longer is', () => {
    const isSlow = (now_ms: number) => now_ms > 60_000 && now_ms < 120_000;
    const share = simulated((at, now_ms) => (at === 0 ? (isSlow(now_ms) ? 3000 : 50) : 200), 2, 3000);
    expect(share(0, 100, 600)).toBeGreaterThan(0.9);
    expect(share(0, 800, 1200)).toBeLessThan(0.15);
    // A minute after it has recovered.
    expect(share(0, 1800, 3000)).toBeGreaterThan(0.85);
  });

  it('asks one of unknown latency with one request at a time', () => {
    const known = candidate({ latency_ms: 100 });
    expect(lowestLatency([known, candidate()], () => 0.5)).not.toBe(known);
    expect(lowestLatency([known, candidate({ in_flight: 1 })], () => 0.5)).toBe(known);
  });

  it('chooses one of those that it was given', () => {
    const some = fc.array(
      fc.record({
        weight: fc.integer({ min: 1, max: 9 }),
        seed: fc.nat(),
        in_flight: fc.nat({ max: 9 }),
        latency_ms: fc.option(fc.nat({ max: 9000 }), { nil: undefined }),
        upstream: fc.constant({}),
      }),
      { minLength: 1, maxLength: 9 },
    );
    fc.assert(
      fc.property(some, fc.nat(), (candidates, seed) => {
        expect(candidates).toContain(lowestLatency(candidates, draws(seed)));
      }),
    );
  });
});

it('leaves the draw by weight to the load balancer', () => {
  expect(strategyOf({ strategy: 'weighted' } as never)).toBeUndefined();
});
