import { afterEach, describe, expect, it } from '@jest/globals';
import { uniform } from '../../../../../../src/gateway/upstream/routing/draw-upstream.ts';
import type { Upstream } from '../../../../../../src/gateway/upstream/routing/upstream.ts';
import { costGrowth } from '../../../../../support/cost-growth.ts';
import { closeRoutes, fill, type Given, open, pause, routeOver } from '../sample-route.ts';

afterEach(closeRoutes);

const failures = (times: number, ...of: readonly Upstream[]) => new Map(of.map(one => [one, times]));
const now = (upstream: Upstream) => ({ when: 'now', upstream });

describe('the next upstream', () => {
  it('is one of the first priority with candidates, then one of the next', () => {
    const { a, b, c, ask } = routeOver([{ priority: 3 }, { priority: 1 }, { priority: 2 }]);
    expect(ask()).toEqual(now(b));
    open(b);
    expect(ask()).toEqual(now(c));
    fill(c);
    expect(ask({ failed: failures(1, c) })).toEqual(now(a));
  });

  it('is never the same twice while there are others', () => {
    const { a, b, ask } = routeOver([{}, {}]);
    expect(ask({ failed: failures(1, a) })).toEqual(now(b));
    expect(ask({ failed: failures(1, b) })).toEqual(now(a));
    expect(ask({ failed: failures(1, a, b) })).toMatchObject({ when: 'never', why: 'unusable' });
  });

  it('may be the same twice where that is configured, but never one that cannot express the request', () => {
    const { a, b, ask } = routeOver([{}, {}], { retries_per_upstream: 1 });
    const failed = new Map([
      [a, 1],
      [b, Number.POSITIVE_INFINITY],
    ]);
    expect(ask({ failed })).toEqual({ when: 'later', upstream: a, wait_ms: 0 });
    expect(ask({ failed: failures(2, a, b) })).toMatchObject({ when: 'never' });
  });

  it('may be one without a free permit when it has a queue', () => {
    const { a, b, ask } = routeOver([{ provider: { max_concurrent: 1, max_queue: 1 } }, { priority: 2 }]);
    fill(a);
    expect(ask()).toEqual({ when: 'queued', upstream: a });
    a.provider.bulkhead.wait(60_000).cancel();
    const waiting = a.provider.bulkhead.wait(60_000);
    expect(ask()).toEqual(now(b));
    waiting.cancel();
  });

  it('is a free one of the same priority before one that must be awaited', () => {
    const { a, b, ask } = routeOver([{ provider: { max_concurrent: 1, max_queue: 9 } }, {}]);
    fill(a);
    expect(ask()).toEqual(now(b));
  });
});

describe('an upstream at its limit', () => {
  it('is left out, also where the others are paused, and is asked in no case', () => {
    const { a, b, ask, clock } = routeOver([{ free_in_ms: 500 }, { priority: 2, free_in_ms: 0 }]);
    expect(ask()).toEqual(now(b));
    pause(b, 30, clock);
    expect(ask()).toEqual(now(b));
    expect(ask({ failed: failures(1, b) })).toMatchObject({ when: 'never', why: 'unusable' });
    expect(a.usable_in_ms(clock.elapsed_ms())).toBe(500);
  });

  it('is no reason to ask any if all are', () => {
    const { ask } = routeOver([{ free_in_ms: 700 }, { priority: 2, free_in_ms: 500 }]);
    expect(ask()).toEqual({ when: 'never', why: 'limited', usable_in_ms: 500 });
  });
});

describe('the next of many upstreams', () => {
  const routeOverMany = (count: number, first: Given = {}) => {
    let state = 1;
    return routeOver([first, ...Array.from({ length: count - 1 }, () => ({}))], {}, () => uniform(state++));
  };

  it('follows their weights', () => {
    const { a, ask } = routeOverMany(41, { weight: 40 });
    const picked = Array.from({ length: 1000 }, () => ask());
    const share = picked.filter(pick => 'upstream' in pick && pick.upstream === a).length / 1000;
    expect(share).toBeCloseTo(0.5, 1);
  });

  it('is one of the few that can be tried, in all others of the ways in which one cannot', () => {
    const { a, b, route, clock, ask } = routeOverMany(40);
    const failed = new Map<Upstream, number>();
    for (const [at, other] of route.upstreams.slice(2).entries()) {
      if (at % 3 === 0) open(other);
      else if (at % 3 === 1) pause(other, 60, clock);
      else failed.set(other, 1);
    }
    const picked = new Set(
      Array.from({ length: 200 }, () => ask({ failed })).map(pick => 'upstream' in pick && pick.upstream),
    );
    expect(picked).toEqual(new Set([a, b]));
    open(a);
    expect(ask({ failed })).toEqual(now(b));
    open(b);
    expect(ask({ failed })).toMatchObject({ when: 'never' });
  });

  it('is found in a time that does not depend on how many there are', async () => {
    // It would be 4 if each of four times as many were looked at.
    const most = 2.5;
    const growth = await costGrowth(
      count => {
        const { ask } = routeOverMany(count);
        return () => {
          for (let asked = 0; asked < 100_000; asked++) ask();
        };
      },
      100,
      most,
    );
    expect(growth).toBeLessThanOrEqual(most);
  });
});

describe('a recently recovered upstream', () => {
  const breaker = { probes: 1, open_ms: 1000, max_open_ms: 1000, ramp_ms: 1000 };
  // With a queue, in which no request is to wait while there is a free permit.
  const ramp = { max_concurrent: 1, max_queue: 1, breaker };
  const recovered = (draw: { value: number }, others: readonly Given[]) => {
    const all = routeOver([{ provider: ramp }, ...others], {}, () => draw.value);
    open(all.a);
    all.clock.advance(1000);
    const { breaker } = all.a.provider;
    breaker.succeeded(breaker.begin());
    return all;
  };

  it('gets its share of requests, and the others go on, even to the next priority', () => {
    const draw = { value: 0.05 };
    const { a, b, ask, clock } = recovered(draw, [{ priority: 2 }]);
    expect(ask()).toEqual(now(a));
    draw.value = 0.5;
    expect(ask()).toEqual(now(b));
    clock.advance(500);
    expect(ask()).toEqual(now(a));
    draw.value = 0.99;
    clock.advance(500);
    expect(ask()).toEqual(now(a));
  });

  it('gets all requests when there is no other', () => {
    const { a, b, ask } = recovered({ value: 0.9 }, [{ priority: 2 }]);
    open(b);
    expect(ask()).toEqual(now(a));
  });

  it('gets what is beyond its share before one of a later priority that has recovered as well', () => {
    const { a, b, ask, clock } = routeOver(
      [{ provider: ramp }, { provider: ramp, priority: 2 }],
      {},
      () => 0.9,
    );
    open(a);
    open(b);
    clock.advance(1000);
    for (const { provider } of [a, b]) provider.breaker.succeeded(provider.breaker.begin());
    expect(ask()).toEqual(now(a));
  });

  it('gets back the same conversations each time', () => {
    const { a, b, ask } = recovered({ value: 0.9 }, [{ priority: 2 }]);
    const back = Array.from({ length: 400 }, (_, affinity_key) => ask({ affinity_key }));
    expect(back).toEqual(Array.from({ length: 400 }, (_, affinity_key) => ask({ affinity_key })));
    const share = back.filter(pick => 'upstream' in pick && pick.upstream === a).length / 400;
    expect(share).toBeGreaterThan(0.04);
    expect(share).toBeLessThan(0.18);
    expect(back).toContainEqual(now(b));
  });
});

describe('a model without available upstreams', () => {
  it('tries the one that is available soonest, among those with a free permit', () => {
    const { a, b, c, ask, clock } = routeOver([{}, {}, { provider: { max_concurrent: 1 } }]);
    pause(a, 60, clock);
    pause(b, 30, clock);
    pause(c, 10, clock);
    expect(ask()).toEqual(now(c));
    fill(c);
    expect(ask()).toEqual(now(b));
    clock.advance(30_000);
    expect(ask()).toEqual(now(b));
  });

  it('refuses where that is configured, with the time to wait', () => {
    const { a, b, ask, clock } = routeOver([{}, {}], { when_all_unavailable: 'refuse' });
    pause(a, 60, clock);
    pause(b, 30, clock);
    expect(ask()).toEqual({ when: 'never', why: 'unusable', usable_in_ms: 30_000 });
  });

  it('tries no paused upstream after another attempt has failed', () => {
    const { a, b, ask, clock } = routeOver([{}, {}]);
    pause(b, 30, clock);
    expect(ask({ failed: failures(1, a) })).toMatchObject({ when: 'never', why: 'unusable' });
  });

  it('refuses with the cause when all permits are taken', () => {
    const { a, b, ask } = routeOver([
      { provider: { max_concurrent: 1 } },
      { provider: { max_concurrent: 1 } },
    ]);
    fill(a);
    fill(b);
    expect(ask()).toMatchObject({ when: 'never', why: 'full' });
    // One that is only resting is not asked while another works at its limit.
    open(b);
    expect(ask()).toMatchObject({ when: 'never', why: 'full' });
  });
});

describe('the pause of an upstream', () => {
  it.each([
    ['Retry-After', { kind: 'status', retry_after_s: 2 }, 2000],
    ['an excessive Retry-After', { kind: 'rate_limited', retry_after_s: 1e9 }, 600_000],
    ['a rate limit without Retry-After', { kind: 'rate_limited' }, 1000],
    ['a misconfigured provider', { kind: 'misconfigured' }, 30_000],
    ['a declined key beside others', { kind: 'rate_limited', retry_after_s: 9, another_key: true }, 0],
    ['any other failure', { kind: 'broken' }, 0],
  ] as const)('follows from %s', (_, failure, pause_ms) => {
    const { a, clock } = routeOver([{}]);
    a.failed(true, { error: undefined as never, ...failure }, 5, clock.elapsed_ms());
    expect(a.usable_in_ms(clock.elapsed_ms())).toBe(pause_ms);
    clock.advance(pause_ms);
    expect(a.usable_in_ms(clock.elapsed_ms())).toBe(0);
  });

  it('is never shortened by a later one', () => {
    const { a, clock } = routeOver([{}]);
    pause(a, 60, clock);
    pause(a, 1, clock);
    expect(a.usable_in_ms(clock.elapsed_ms())).toBe(60_000);
  });
});
