import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ReservationResult } from '../../src/stores/limits/state-store.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { openRedisStore, type RedisStore } from '../support/redis-store.ts';
import { StateLoad } from '../support/state-load.ts';
import { charge, limit } from '../support/state-store-contract.ts';
import { until } from '../support/until.ts';

const timeout_ms = 400;
/** What a machine that is busy with other tests may add to a time-out; a take that hangs would take for ever. */
const busy_ms = 1500;
const wide = [limit('tokens_per_day', 1e12), limit('concurrent_requests', 1e6), limit('usd_per_month', 1e12)];

let redis: RedisServer;
let opened: RedisStore;

beforeEach(async () => {
  redis = await startRedis({ persistent: true });
});
afterEach(async () => {
  redis.resume();
  await opened?.store.close();
  await redis.stop();
});

const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms));
const load = (limits = wide) =>
  new StateLoad(opened.store, {
    account: 'a',
    limits,
    per_second: 100,
    charge: charge(100, 100),
    used: at => charge((at * 37) % 250, (at * 53) % 250),
    lasts_ms: 150,
  });
const take = (limits = wide, account = 'a') =>
  opened.store.reserve({ id: `${Math.random()}`, account, limits, charge: charge(10, 10) });
const isOut = () => opened.store.outage !== undefined;
const isBack = () => opened.store.outage === undefined;

/** What Redis itself says is used of tokens and leases; sent and asked again where a busy machine took longer than the time-out. */
const counted = async (): Promise<number[]> => {
  await until(async () => {
    await opened.store.settled();
    return (await opened.metric('sluice_state_settlements_waiting')) === 0;
  });
  const statuses = await opened.remote.statuses('a', wide).catch(() => undefined);
  if (!statuses) {
    await sleep(20);
    return counted();
  }
  return statuses.map(({ limit: { max }, remaining }) => max - remaining).slice(0, 2);
};

describe('a Redis that is paused under load', () => {
  it('delays no request, and all usage is counted when it resumes', async () => {
    opened = await openRedisStore({ url: redis.url, timeout_ms });
    const running = load();
    await running.more(60);
    redis.pause();
    await until(isOut);
    await running.more(150);
    expect(isOut()).toBe(true);
    redis.resume();
    await until(isBack);
    await running.more(60);
    await running.end();
    expect(running).toMatchObject({ refused: 0, failed: 0 });
    expect(running.p99_ms).toBeLessThan(timeout_ms + busy_ms);
    expect(Math.max(...running.takes_ms)).toBeLessThan(timeout_ms + 2 * busy_ms);
    expect(await counted()).toEqual([running.tokens, 0]);
    expect(await opened.metric('sluice_state_settlements_dropped_total')).toBe(0);
  });
});

describe('a Redis that is killed and restarted under load', () => {
  it('delays no request, and all usage is counted once it is back', async () => {
    opened = await openRedisStore({ url: redis.url, timeout_ms });
    const running = load();
    await running.more(50);
    await redis.kill();
    await until(isOut);
    await running.more(100);
    await redis.restart();
    await until(isBack);
    await running.more(50);
    await running.end();
    expect(running).toMatchObject({ refused: 0, failed: 0 });
    expect(running.p99_ms).toBeLessThan(timeout_ms + busy_ms);
    expect(await counted()).toEqual([running.tokens, 0]);
  });

  it('learns the requests in flight again after losing its data', async () => {
    await redis.stop();
    redis = await startRedis();
    opened = await openRedisStore({ url: redis.url, timeout_ms });
    const before = [await take(), await take()];
    await redis.kill();
    const noticing: ReservationResult[] = [];
    await until(async () => {
      noticing.push(await take());
      return isOut();
    });
    const meanwhile = [await take()];
    await redis.restart();
    await until(isBack);
    await until(async () => (await counted())[1]! >= 3);
    expect(await opened.metric('sluice_state_alone_total')).toBeGreaterThan(0);
    for (const taken of [...before, ...meanwhile]) if (taken.admitted) taken.reservation.settle(charge(7));
    expect(await counted()).toEqual([21, noticing.length]);
    for (const taken of noticing) if (taken.admitted) taken.reservation.settle(charge(0, 0, 0));
    expect(await counted()).toEqual([21, 0]);
  });
});

describe('the state store while Redis is down', () => {
  const rpm = (max: number) => [limit('requests_per_minute', max)];
  const out = async (policies = {}, instances = 1) => {
    opened = await openRedisStore({ url: redis.url, timeout_ms, policies });
    // A busy machine may miss a heartbeat.
    await until(async () => (await opened.metric('sluice_state_instances')) === instances);
    await redis.kill();
    await until(async () => {
      await Promise.resolve(take([limit('tokens_per_day', 1e12)], 'other')).catch(() => {});
      return isOut();
    });
  };

  it('admits the share of this instance under the policy `local`', async () => {
    const others = await Promise.all([1, 2, 3].map(() => openRedisStore({ url: redis.url })));
    await out({}, 4);
    await Promise.all(others.map(({ store }) => store.close()));
    const taken = await Promise.all(Array.from({ length: 20 }, () => take(rpm(20))));
    expect(taken.filter(({ admitted }) => admitted)).toHaveLength(5);
    const refused = taken.find(({ admitted }) => !admitted)!;
    expect(refused).toMatchObject({
      refused_by: { name: 'requests_per_minute', max: 20 },
      statuses: [{ limit: { max: 20 }, remaining: 0 }],
    });
  });

  it('subtracts what this instance admitted before under the policy `local`', async () => {
    opened = await openRedisStore({ url: redis.url, timeout_ms });
    for (let at = 0; at < 8; at++) await take(rpm(10));
    await redis.kill();
    const taken = await Promise.all(Array.from({ length: 20 }, () => take(rpm(10))));
    expect(taken.filter(({ admitted }) => admitted)).toHaveLength(2);
  });

  it('admits what was left of the day, not a new day, under the policy `local`', async () => {
    const daily = [limit('tokens_per_day', 1000)];
    const other = await openRedisStore({ url: redis.url });
    opened = await openRedisStore({ url: redis.url, timeout_ms });
    for (let at = 0; at < 60; at++)
      await other.store.reserve({ id: `other-${at}`, account: 'a', limits: daily, charge: charge(10) });
    for (let at = 0; at < 10; at++) await take(daily);
    await other.store.close();
    await redis.kill();
    const taken = await Promise.all(Array.from({ length: 50 }, () => take(daily)));
    // 300 of 1000 are left, for one or two instances: the other may have been heard of or not.
    expect([15, 30]).toContain(taken.filter(({ admitted }) => admitted).length);
  });

  it('admits nothing of a used-up daily limit under the policy `local`', async () => {
    const daily = [limit('tokens_per_day', 1000)];
    opened = await openRedisStore({ url: redis.url, timeout_ms });
    const other = await openRedisStore({ url: redis.url });
    await other.store.reserve({ id: 'other', account: 'a', limits: daily, charge: charge(1000) });
    // On a busy machine Redis may answer too late at first, and the policy decides.
    await until(async () => !(await take(daily)).admitted);
    await other.store.close();
    await redis.kill();
    for (let at = 0; at < 5; at++)
      expect(await take(daily)).toMatchObject({ admitted: false, refused_by: { name: 'tokens_per_day' } });
  });

  it('applies no limit under the policy `open`', async () => {
    await out({ default: 'open' });
    const before = await opened.metric('sluice_state_alone_total', 'policy="open"');
    for (let at = 0; at < 50; at++) expect((await take(rpm(5))).admitted).toBe(true);
    expect(await opened.metric('sluice_state_alone_total', 'policy="open"')).toBe(before + 50);
  });

  it('refuses with a server error only requests with the limit under the policy `closed`', async () => {
    await out({ usd_per_month: 'closed' });
    const money = [...rpm(5), limit('usd_per_month', 100)];
    await expect((async () => take(money))()).rejects.toMatchObject({
      status: 502,
      type: 'server_error',
      headers: { 'retry-after': '1' },
    });
    expect((await take(rpm(5))).admitted).toBe(true);
    const forced = await opened.store.reserve({
      id: 'forced',
      account: 'a',
      limits: money,
      charge: charge(),
      force: true,
    });
    expect(forced.admitted).toBe(true);
  });

  it('reports the outage in its metric and its status', async () => {
    await out();
    expect(await opened.metric('sluice_store_up')).toBe(0);
    expect(opened.store.outage).toMatchObject({ since_epoch_ms: expect.any(Number) });
    await redis.restart();
    await until(isBack);
    expect(await opened.metric('sluice_store_up', 'heartbeat')).toBe(1);
    await take();
    expect(await opened.metric('sluice_store_up', 'reserve')).toBe(1);
  });
});

describe('a Redis that can be read and not written', () => {
  it('shows every operation as down until it can be written again', async () => {
    opened = await openRedisStore({ url: redis.url, timeout_ms });
    await take();
    expect(await opened.metric('sluice_store_up')).toBe(5);
    await redis.cli('REPLICAOF', '127.0.0.1', '1');
    await until(async () => {
      await take();
      return isOut();
    });
    expect(await redis.cli('EXISTS', 'anything')).toMatch('0');
    expect(await opened.metric('sluice_store_up')).toBe(0);
    await redis.cli('REPLICAOF', 'NO', 'ONE');
    await until(isBack);
    await take();
    await until(async () => (await opened.metric('sluice_store_up', 'reserve')) === 1);
    expect(await opened.metric('sluice_store_up', 'heartbeat')).toBe(1);
  });
});

describe('a state store that starts while Redis is down', () => {
  it('serves by policy and connects to Redis when it comes up', async () => {
    await redis.kill();
    opened = await openRedisStore({ url: redis.url, timeout_ms });
    expect((await take()).admitted).toBe(true);
    const alone = () => opened.metric('sluice_state_alone_total');
    expect(await alone()).toBe(1);
    await redis.restart();
    await until(async () => {
      const before = await alone();
      return (await take()).admitted && (await alone()) === before;
    });
  });

  it('reports a wrong password', async () => {
    await redis.stop();
    redis = await startRedis({ args: ['--requirepass', 'secret'] });
    opened = await openRedisStore({ url: redis.url, timeout_ms });
    await until(isOut);
    expect(String(opened.store.outage?.cause)).toContain('NOAUTH');
    await opened.store.close();
    opened = await openRedisStore({ url: redis.url.replace('//', '//:secret@'), timeout_ms });
    expect((await take()).admitted).toBe(true);
    expect(await opened.metric('sluice_state_alone_total')).toBe(0);
  });
});
