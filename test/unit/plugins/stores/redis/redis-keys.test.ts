import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createClient } from '@redis/client';
import fc from 'fast-check';
import { slotOf } from '../../../../../plugins/stores/redis/key-slot.ts';
import { type RedisServer, startRedis } from '../../../../support/redis-server.ts';
import { openRedisStore, type RedisStore } from '../../../../support/redis-store.ts';
import { charge, limit } from '../../../../support/state-store-contract.ts';
import { until } from '../../../../support/until.ts';

const limits = [
  limit('requests_per_minute', 100),
  limit('tokens_per_minute', 10_000),
  limit('tokens_per_minute', 10_000, 'vendor/model{1}'),
  limit('tokens_per_day', 10_000),
  limit('concurrent_requests', 10),
  limit('usd_per_month', 10_000),
];

let redis: RedisServer;
let opened: RedisStore;

beforeAll(async () => {
  // A whole cluster of one server, which runs no script that spans several slots.
  redis = await startRedis({ args: ['--cluster-enabled', 'yes'] });
  await redis.cli('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await until(async () => (await redis.cli('CLUSTER', 'INFO')).includes('cluster_state:ok'));
});
afterEach(() => opened?.store.close());
afterAll(() => redis?.stop());

const keys = async (pattern: string) =>
  (await redis.cli('KEYS', pattern)).split('\n').filter(key => key !== '');

/** Takes under all limits, and settles half of it. */
async function leaveTraces(account: string): Promise<void> {
  opened = await openRedisStore({ url: redis.url, key_prefix: 'p:' });
  for (const id of ['one', 'two']) {
    const taken = await opened.store.reserve({ account, limits, charge: charge(100, 100) });
    if (!taken.admitted) throw new Error('refused');
    if (id === 'one') taken.reservation.settle(charge(5, 5));
  }
  await opened.store.settled();
  expect(await opened.metric('sluice_state_alone_total')).toBe(0);
}

describe('the keys in Redis', () => {
  it.each(['demo', 'curly {braces}', '}{', 'colon:and space', '{', 'per%cent', 'ünï😀', ''])(
    'of account %j are all in one slot of a cluster',
    async account => {
      await redis.cli('FLUSHALL');
      await leaveTraces(account);
      const ofAccount = (await keys('p:*')).filter(key => key !== 'p:instances');
      expect(ofAccount).toHaveLength(limits.length);
      expect(new Set(ofAccount.map(slotOf)).size).toBe(1);
    },
  );

  it('count an instance no longer once it has closed', async () => {
    await redis.cli('FLUSHALL');
    const open = () => openRedisStore({ url: redis.url, key_prefix: 'p:' });
    const next = await open();
    opened = await open();
    const instances = () => opened.remote.servers()[0]!.heartbeat(15_000);
    expect(await instances()).toBe(2);
    await next.store.close();
    expect(await instances()).toBe(1);
  });

  it('have names that all versions of a major share', async () => {
    await redis.cli('FLUSHALL');
    await leaveTraces('demo');
    expect((await keys('*')).toSorted()).toEqual([
      'p:instances',
      'p:{demo}:leases',
      'p:{demo}:requests_per_minute',
      'p:{demo}:tokens_per_day',
      'p:{demo}:tokens_per_minute',
      'p:{demo}:tokens_per_minute:vendor/model{1}',
      'p:{demo}:usd_per_month',
    ]);
  });

  it('are distinct for any two account names', async () => {
    await redis.cli('FLUSHALL');
    for (const account of ['a', 'a}', 'a%7D', '{a', 'a:tokens_per_day']) {
      await leaveTraces(account);
      await opened.store.close();
    }
    expect((await keys('p:*')).filter(key => key !== 'p:instances')).toHaveLength(5 * limits.length);
  });

  it('all expire by themselves', async () => {
    await redis.cli('FLUSHALL');
    await leaveTraces('demo');
    const all = await keys('*');
    expect(all.length).toBeGreaterThan(limits.length);
    for (const key of all) {
      const left_ms = Number(await redis.cli('PTTL', key));
      expect([key, left_ms > 0 && left_ms < 32 * 86_400_000]).toEqual([key, true]);
    }
  });
});

it('finds the slot that a cluster does, of any key', async () => {
  const part = fc.oneof(fc.constantFrom('{', '}', '{}', 'a'), fc.string({ unit: 'grapheme' }));
  const key = fc.array(part, { minLength: 1, maxLength: 5 }).map(parts => parts.join(''));
  const client = await createClient({ url: redis.url }).connect();
  const property = fc.asyncProperty(key, async text => {
    fc.pre(text.isWellFormed());
    expect(slotOf(text)).toBe(await client.sendCommand(['CLUSTER', 'KEYSLOT', text]));
  });
  const examples: [string][] = [['{}a'], ['a{}{b}'], ['sluice:{demo}:x'], ['}{'], ['{a']];
  await fc.assert(property, { examples }).finally(() => client.destroy());
});
