import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { CounterOwner } from '../../../../../src/mount/state/counters/counter-groups.ts';
import { type RedisServer, startRedis } from '../../../../support/redis-server.ts';
import { openRedisStore } from '../../../../support/redis-store.ts';
import { charge, limit } from '../../../../support/state-store-contract.ts';

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis?.stop());

const credit = limit('usd_total', 1000);

/** An instance that shares its counters with others of the same prefix. */
async function instance(key_prefix: string, used: () => Promise<number>) {
  const asked: CounterOwner[] = [];
  const { store } = await openRedisStore({
    url: redis.url,
    key_prefix,
    timeout_ms: 10_000,
    policies: { default: 'closed' },
    past: {
      async find(owner) {
        asked.push(owner);
        const amount = await used();
        return { of: () => amount };
      },
    },
  });
  const reserve = (nano_usd: number) =>
    store.reserve({ account: 'a', limits: [credit], charge: charge(0, nano_usd) });
  const remaining = async () => (await store.statuses('a', [credit]))[0]!.remaining;
  return { store, asked, reserve, remaining };
}

describe('a total in Redis', () => {
  it('begins with what the ledger says, asked once, and again when Redis has lost it', async () => {
    let used = 700;
    const prefix = 'total-1:';
    const [one, other] = [await instance(prefix, async () => used), await instance(prefix, async () => used)];
    expect(await one.reserve(200)).toMatchObject({ admitted: true });
    expect(await one.reserve(101)).toMatchObject({ admitted: false, refused_by: credit });
    expect(await other.remaining()).toBe(100);
    expect([one.asked, other.asked]).toEqual([[{ account: 'a', key: undefined, member: undefined }], []]);
    await Promise.all([one.store.close(), other.store.close()]);
    await redis.cli('FLUSHALL');
    used = 950;
    const next = await instance(prefix, async () => used);
    expect(await next.reserve(51)).toMatchObject({ admitted: false });
    expect(await next.reserve(50)).toMatchObject({ admitted: true });
    await next.store.close();
  });

  it('admits nothing while the ledger cannot be read, but as the policy says', async () => {
    let isOut = true;
    const one = await instance('total-2:', async () => {
      if (isOut) throw new Error('out');
      return 999;
    });
    await expect(one.reserve(2)).rejects.toMatchObject({ code: 'server_error' });
    isOut = false;
    expect(await one.reserve(2)).toMatchObject({ admitted: false });
    expect(await one.reserve(1)).toMatchObject({ admitted: true });
    await one.store.close();
  });
});

it('counts in the period of the server, whatever the time is at an instance', async () => {
  const days = [limit('tokens_per_day', 100), { ...limit('usd_per_week', 100), time_zone: 'Asia/Tokyo' }];
  const open = () => openRedisStore({ url: redis.url, key_prefix: 'apart:', timeout_ms: 10_000 });
  const [right, wrong] = [await open(), await open()];
  const request = { account: 'a', limits: days, charge: charge(60, 60) };
  const now_ms = Date.now();
  const clock = jest.spyOn(Date, 'now').mockReturnValue(now_ms + 40 * 86_400_000);
  try {
    expect(await wrong.store.reserve(request)).toMatchObject({ admitted: true });
  } finally {
    clock.mockRestore();
  }
  expect(await right.store.reserve(request)).toMatchObject({ admitted: false });
  expect(await right.used('a', days)).toEqual([60, 60]);
  await Promise.all([right.store.close(), wrong.store.close()]);
});
