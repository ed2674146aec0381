import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Charge } from '../../../../../src/gateway/limits/limit-units.ts';
import type { ReservationRequest } from '../../../../../src/gateway/limits/state-store.ts';
import { type Hold, TooLate } from '../../../../../src/records/remote-state.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { type RedisServer, startRedis } from '../../../../support/redis-server.ts';
import { openRedisStore, type RedisStore } from '../../../../support/redis-store.ts';
import { charge, limit } from '../../../../support/state-store-contract.ts';
import { until } from '../../../../support/until.ts';

const limits = [
  limit('requests_per_minute', 10),
  limit('tokens_per_minute', 1000),
  limit('tokens_per_day', 1000),
  limit('concurrent_requests', 5),
];
const request: ReservationRequest = { id: 'one', account: 'a', limits, charge: charge(300) };

let redis: RedisServer;
let opened: RedisStore;
let clock: FakeClock;

beforeAll(async () => {
  redis = await startRedis();
});
beforeEach(async () => {
  await redis.cli('FLUSHALL');
  clock = new FakeClock();
  opened = await openRedisStore({ url: redis.url, clock, fakeTime: true });
});
afterEach(() => opened?.store.close());
afterAll(() => redis?.stop());

const remaining = async () => {
  const statuses = await opened.remote.statuses('a', limits);
  return statuses.map(standing => standing.remaining);
};
const settlement = (hold: Hold, used: Charge) => ({ hold, used, settled_ms: clock.elapsed_ms() });
const taken = async (): Promise<Hold> => {
  const hold = { request, reserved_ms: clock.elapsed_ms(), life: serverLife() };
  await opened.remote.reserve(request);
  return hold;
};
/** A hold of which the store has never said anything. */
const unheard = (): Hold => ({ request, reserved_ms: clock.elapsed_ms(), life: undefined });

describe('a settlement in Redis', () => {
  it.each<[string, () => Hold | Promise<Hold>]>([
    ['finds its reservation', () => taken()],
    ['finds the reservation of a request whose answer was lost', () => taken().then(unheard)],
    ['is charged in full where its reservation never arrived', () => unheard()],
  ])('%s, and counts once, however often it is sent', async (_, held) => {
    const one = settlement(await held(), charge(500));
    for (let time = 0; time < 3; time++) await opened.remote.settle(one);
    expect(await remaining()).toEqual([9, 500, 500, 5]);
  });

  it('makes a reservation that arrives after it count nothing', async () => {
    await opened.remote.settle(settlement(unheard(), charge(0, 0, 0)));
    await expect(opened.remote.reserve(request)).rejects.toThrow('after its settlement');
    expect(await remaining()).toEqual([10, 1000, 1000, 5]);
  });

  it('counts, when late, as of the time it was settled', async () => {
    const one = settlement(unheard(), charge(500));
    clock.advance(30_000);
    await opened.remote.settle(one);
    expect(await remaining()).toEqual([9, 500, 500, 5]);
    clock.advance(31_000);
    // Its minute is over, its day is not.
    expect(await remaining()).toEqual([10, 1000, 500, 5]);
  });

  it.each([
    ['minute', 'an hour', 3_600_000, 500],
    ['day', 'a day', 86_400_000, 1000],
  ])('leaves the present %s unchanged when it is %s late', async (_, __, late_ms, of_day) => {
    const one = settlement(unheard(), charge(500));
    clock.advance(late_ms);
    await opened.remote.settle(one);
    expect(await remaining()).toEqual([10, 1000, of_day, 5]);
  });

  it('is charged in full where Redis has come back without its data', async () => {
    const hold = await taken();
    const life = serverLife();
    await redis.restart();
    await reconnected(life);
    const one = settlement(hold, charge(500));
    for (let time = 0; time < 2; time++) await opened.remote.settle(one);
    expect(await remaining()).toEqual([9, 500, 500, 5]);
  });

  it('is not repeated when it may have been done longer ago than Redis remembers', async () => {
    const one = settlement(unheard(), charge(500));
    await opened.remote.settle(one);
    clock.advance(3_600_000);
    await expect(opened.remote.settle(one)).rejects.toThrow(TooLate);
    // Unlike one that has only waited so long.
    clock.advance(7_200_000);
    const other = { request: { ...request, id: 'two' }, reserved_ms: 0, life: undefined };
    await opened.remote.settle({ hold: other, used: charge(100), settled_ms: 0 });
    expect((await remaining())[2]).toBe(400);
  });

  it('is charged in full to a primary without the reservation when a demoted primary refused it', async () => {
    const one = settlement(await taken(), charge(500));
    const life = serverLife();
    await redis.cli('REPLICAOF', '127.0.0.1', '1');
    await expect(opened.remote.settle(one)).rejects.toThrow('READONLY');
    await redis.cli('REPLICAOF', 'NO', 'ONE');
    await redis.cli('FLUSHALL');
    await reconnected(life);
    for (let time = 0; time < 2; time++) await opened.remote.settle(one);
    expect(await remaining()).toEqual([9, 500, 500, 5]);
  });

  it('is never too late where Redis reported that it was not done', async () => {
    const one = settlement(unheard(), charge(500));
    await redis.cli('CONFIG', 'SET', 'maxmemory', '1');
    await expect(opened.remote.settle(one)).rejects.toThrow('OOM');
    await redis.cli('CONFIG', 'SET', 'maxmemory', '0');
    clock.advance(7_200_000);
    await opened.remote.settle(one);
    expect((await remaining())[2]).toBe(500);
  });

  it('is not repeated when it may have been done before the connection ended', async () => {
    const one = settlement(await taken(), charge(500));
    await opened.remote.settle(one);
    const life = serverLife();
    await redis.cli('CLIENT', 'KILL', 'TYPE', 'normal');
    await reconnected(life);
    await opened.remote.settle(one);
    expect(await remaining()).toEqual([9, 500, 500, 5]);
  });
});

describe('a reservation in Redis', () => {
  it('expires when it is not renewed', async () => {
    await taken();
    expect((await remaining())[3]).toBe(4);
    clock.advance(14_999);
    expect((await remaining())[3]).toBe(4);
    clock.advance(1);
    expect((await remaining())[3]).toBe(5);
  });

  it('lives as long as it is renewed, and no longer', async () => {
    const hold = await taken();
    for (let time = 0; time < 5; time++) {
      clock.advance(10_000);
      await opened.remote.renew([hold]);
    }
    expect((await remaining())[3]).toBe(4);
    await opened.remote.settle(settlement(hold, charge(300)));
    expect((await remaining())[3]).toBe(5);
  });

  it('is renewed for many accounts and exchanges with few calls', async () => {
    const holds: Hold[] = [];
    for (let at = 0; at < 1000; at++) {
      const wide = [limit('concurrent_requests', 1000), limit('concurrent_requests', 1000, 'm')];
      const one = { id: `${at}`, account: `a-${at % 3}`, limits: wide, charge: charge() };
      holds.push({ request: one, reserved_ms: clock.elapsed_ms(), life: serverLife() });
      await opened.remote.reserve(one);
    }
    clock.advance(10_000);
    // The heartbeat may run its script in between.
    await until(async () => {
      const before = await calls();
      await opened.remote.renew(holds);
      return (await calls()) - before === 6;
    });
    clock.advance(10_000);
    for (const account of ['a-0', 'a-1', 'a-2']) {
      const [all, model] = await opened.remote.statuses(account, holds[0]!.request.limits);
      expect(all!.remaining).toBeLessThanOrEqual(1000 - 333);
      expect(model!.remaining).toBe(all!.remaining);
    }
  });

  it('is restored by the next renewal where Redis has lost it', async () => {
    const hold = await taken();
    const life = serverLife();
    await redis.restart();
    await reconnected(life);
    expect((await remaining())[3]).toBe(5);
    await opened.remote.renew([hold]);
    expect((await remaining())[3]).toBe(4);
  });

  it.each([
    ['was', () => taken()],
    ['may never have been', async () => unheard()],
  ])('is not restored by a renewal after its settlement, where it %s made', async (_, held) => {
    const hold = await held();
    await opened.remote.renew([hold]);
    expect((await remaining())[3]).toBe(4);
    await opened.remote.settle(settlement(hold, charge(300)));
    await opened.remote.renew([hold]);
    expect((await remaining())[3]).toBe(5);
  });
});

describe('a script that Redis does not know', () => {
  it('is sent with its text', async () => {
    await taken();
    await redis.cli('SCRIPT', 'FLUSH');
    await opened.remote.settle(settlement(unheard(), charge(500)));
    expect(await remaining()).toEqual([9, 500, 500, 5]);
  });
});

/** How many scripts have been run. */
async function calls(): Promise<number> {
  const text = await redis.cli('INFO', 'commandstats');
  return [...text.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
}

/** Resolves when the connection has another life than this one. */
const reconnected = (life: number): Promise<void> => until(() => serverLife() !== life);

/** The number of the connection. */
function serverLife(): number {
  return opened.remote.serverOf('a').life;
}
