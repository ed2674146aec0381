import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Limit, LimitName } from '../../src/gateway/limits/limit-table.ts';
import type { Reservation } from '../../src/gateway/limits/state-store.ts';
import { closeStores, storeOf } from '../support/limit-load.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import type { RedisStore } from '../support/redis-store.ts';
import { charge, limit } from '../support/state-store-contract.ts';

let redis: RedisServer;
let stores: RedisStore[];

beforeAll(async () => {
  redis = await startRedis();
});
afterEach(closeStores);
afterAll(() => redis?.stop());

const open = async () => {
  stores = [];
  // A machine that is busy with other tests is no outage.
  for (let at = 0; at < 3; at++) stores.push(await storeOf({ url: redis.url, timeout_ms: 30_000 }));
};

/** Requests of an account at the same time, to the instances given in turn. Settled are those that are to be. */
async function burst(account: string, limits: readonly Limit[], count: number, at: readonly number[]) {
  const sent = Array.from({ length: count }, async (_, number) => {
    const { store } = stores[at[number % at.length]!]!;
    const taken = await store.reserve({ account, limits, charge: charge(3, 3) });
    return taken.admitted ? taken.reservation : undefined;
  });
  return (await Promise.all(sent)).filter(one => one !== undefined);
}
const settle = (all: readonly Reservation[]) => {
  for (const one of all) one.settle(charge(3, 3));
};

const fits = 137;
const kinds: [string, Limit][] = (
  ['requests_per_minute', 'tokens_per_minute', 'tokens_per_day', 'usd_per_month'] as LimitName[]
).map(name => [name, limit(name, name === 'requests_per_minute' ? fits : 3 * fits)]);
kinds.push(['concurrent_requests', limit('concurrent_requests', fits)]);
kinds.push(['tokens_per_day of a model', limit('tokens_per_day', 3 * fits, 'vendor/model')]);
kinds.push(['requests_per_minute of a key', { ...limit('requests_per_minute', fits), key: 'key_one' }]);

describe.each(kinds)('300 requests at the same time over three instances, with a limit of %s,', (_, one) => {
  const isRunning = one.name === 'concurrent_requests';

  /** Leaves blocks at all three; returns how many requests count. */
  async function warm(account: string): Promise<number> {
    await open();
    for (let round = 0; round < 3; round++) {
      settle(await burst(account, [one], 12, [0, 1, 2]));
      await sleep(20);
    }
    return isRunning ? 0 : 36;
  }

  it('are admitted up to the limit and not one further, from blocks and through a pause of Redis', async () => {
    const account = randomUUID();
    const before = await warm(account);
    const burstOfAll = burst(account, [one], 300, [0, 1, 2]);
    await sleep(2);
    redis.pause();
    // biome-ignore lint/plugin: how long Redis is paused is the case.
    await sleep(200);
    redis.resume();
    const admitted = await burstOfAll;
    expect(before + admitted.length).toBe(fits);
    settle(admitted);
    expect(await burst(account, [one], 3, [0])).toHaveLength(isRunning ? 3 : 0);
  });

  it('are all served by one that gets all of them, within a second', async () => {
    const account = randomUUID();
    const before = await warm(account);
    const began_ms = performance.now();
    const admitted = await burst(account, [one], 300, [2]);
    expect(before + admitted.length).toBe(fits);
    // Of a machine that is busy.
    expect(performance.now() - began_ms).toBeLessThan(3000);
  });

  it('are admitted up to the limit by two while the third ends, which gives back what it held', async () => {
    const account = randomUUID();
    const before = await warm(account);
    const ended = stores[0]!.store.close();
    const admitted = await burst(account, [one], 300, [1, 2]);
    await ended;
    expect(before + admitted.length).toBe(fits);
  });

  it('are never more than the limit by two while the third is killed, and what that one held counts', async () => {
    const account = randomUUID();
    const before = await warm(account);
    const burstOfOthers = burst(account, [one], 300, [1, 2]);
    await stores[0]!.remote.close();
    const admitted = before + (await burstOfOthers).length;
    expect(admitted).toBeLessThanOrEqual(fits);
    // Of what was left it held a sixth at most.
    expect(admitted).toBeGreaterThan(fits - fits / 6 - 12);
  });
});
