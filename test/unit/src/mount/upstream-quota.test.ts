import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { StateStore } from '../../../../src/gateway/limits/state-store.ts';
import { MemoryStateStore } from '../../../../src/mount/state/counters/memory-state-store.ts';
import { upstreamQuota } from '../../../../src/mount/upstream-quota.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { sampleRequest } from '../../sample-exchange.ts';

const asking = (characters: number, max_tokens?: number) =>
  sampleRequest({
    messages: [{ role: 'user', content: 'a'.repeat(characters) }],
    ...(max_tokens !== undefined && { max_tokens }),
  });

function quotaOf(limits: object, state?: StateStore) {
  const clock = new FakeClock();
  const store = state ?? new MemoryStateStore(clock);
  const upstream = { provider: 'a', model: 'm', priority: 1, weight: 1, limits };
  return {
    clock,
    store,
    quota: upstreamQuota(store, upstream)!,
    same: () => upstreamQuota(store, upstream)!,
  };
}

describe('the quota of an upstream', () => {
  it('is none without limits', () => {
    const upstream = { provider: 'a', model: 'm', priority: 1, weight: 1 };
    expect(upstreamQuota(new MemoryStateStore(new FakeClock()), upstream)).toBeUndefined();
  });

  it('admits as many requests as are allowed in any minute, whoever counts them', () => {
    const { clock, quota, same } = quotaOf({ requests_per_minute: 2 });
    expect(quota.free_in_ms()).toBe(0);
    quota.take(asking(4));
    same().take(asking(4));
    expect(quota.free_in_ms()).toBeGreaterThan(0);
    expect(quota.free_in_ms()).toBeLessThanOrEqual(61_000);
    clock.advance(59_000);
    expect(quota.free_in_ms()).toBeGreaterThan(0);
    clock.advance(2000);
    expect(quota.free_in_ms()).toBe(0);
  });

  it('counts tokens as expected, and then as they were', () => {
    const { quota } = quotaOf({ tokens_per_minute: 1000 });
    const used = quota.take(asking(400, 900));
    // 100 of the prompt, and 500 of a completion of usual length.
    expect(quota.free_in_ms()).toBe(0);
    used(1, 1000);
    expect(quota.free_in_ms()).toBeGreaterThan(0);
    const { quota: other } = quotaOf({ tokens_per_minute: 1000 });
    const refused = other.take(asking(4000, 900));
    expect(other.free_in_ms()).toBeGreaterThan(0);
    refused(1, 0);
    expect(other.free_in_ms()).toBe(0);
  });

  it('gives back a request that was not sent', () => {
    const { quota } = quotaOf({ requests_per_minute: 1 });
    quota.take(undefined)(0, 0);
    expect(quota.free_in_ms()).toBe(0);
  });

  it('expects completions as long as the last ones were', () => {
    const { quota, clock } = quotaOf({ tokens_per_minute: 1000 });
    for (let at = 0; at < 60; at++) {
      quota.take(asking(4))(1, 5);
      clock.advance(1000);
    }
    clock.advance(61_000);
    for (let at = 0; at < 40; at++) quota.take(asking(4));
    expect(quota.free_in_ms()).toBe(0);
  });

  it('keeps nothing from an upstream while the store is down', async () => {
    const down = { knownStatuses: () => [], reserve: () => Promise.reject(new Error('down')) };
    const { quota } = quotaOf({ requests_per_minute: 1 }, down as unknown as StateStore);
    quota.take(asking(4))(1, 5);
    const closed = {
      ...down,
      reserve: () => {
        throw new Error('down');
      },
    };
    quotaOf({ requests_per_minute: 1 }, closed as unknown as StateStore).quota.take(asking(4))(1, 5);
    await new Promise(setImmediate);
    expect(quota.free_in_ms()).toBe(0);
  });

  it('is never exceeded by those who look before they ask', () => {
    const arrivals = fc.array(fc.nat({ max: 5000 }), { maxLength: 200 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), arrivals, (max, waits) => {
        const { clock, quota } = quotaOf({ requests_per_minute: max });
        const sent: number[] = [];
        for (const wait_ms of waits) {
          clock.advance(wait_ms);
          if (quota.free_in_ms() > 0) continue;
          quota.take(asking(4))(1, 2);
          sent.push(clock.elapsed_ms());
        }
        for (const [at, sent_ms] of sent.entries())
          expect(sent_ms - (sent[at - max] ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(60_000);
      }),
    );
  });
});
