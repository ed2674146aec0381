import { afterEach, describe, expect, it } from '@jest/globals';
import type { ReservationRequest, ReservationResult } from '../../src/gateway/limits/state-store.ts';
import { capturedLog } from '../support/captured-log.ts';
import { LimitLoad } from '../support/limit-load.ts';
import { type RedisOptions, type RedisServer, startRedis } from '../support/redis-server.ts';
import { openRedisStore, type RedisStore, type RedisStoreOptions } from '../support/redis-store.ts';
import { charge, limit } from '../support/state-store-contract.ts';
import { TcpRelay } from '../support/tcp-relay.ts';
import { until } from '../support/until.ts';

const limits = [limit('tokens_per_day', 1e12), limit('usd_per_month', 1e12)];
const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const start = async (options?: RedisOptions): Promise<RedisServer> => {
  const redis = await startRedis(options);
  cleanUps.push(() => redis.stop());
  cleanUps.push(async () => redis.resume());
  return redis;
};
const relayTo = async ({ port }: RedisServer): Promise<TcpRelay> => {
  const relay = new TcpRelay(port);
  await relay.listen();
  cleanUps.push(() => relay.close());
  return relay;
};

/** A store, its log, and exchanges that run against it. */
class Setting {
  readonly opened: RedisStore;
  readonly lines: ReturnType<typeof capturedLog>['lines'];

  constructor(opened: RedisStore, lines: Setting['lines']) {
    this.opened = opened;
    this.lines = lines;
  }

  load = (): LimitLoad => new LimitLoad([this.opened], 'a', limits);

  reserve(more: Partial<ReservationRequest> = {}) {
    return this.opened.store.reserve({ account: 'a', limits, charge: charge(10, 10), ...more });
  }

  isOut = () => this.opened.store.outage !== undefined;
  isBack = () => this.opened.store.outage === undefined;
  waiting = () => this.opened.metric('sluice_state_settlements_waiting');
  outages = () => this.opened.metric('sluice_store_outages_total');
  /** How often that was logged. */
  logged = (part: string) => this.lines.filter(({ msg }) => msg.includes(part)).length;
}

const open = async (options: RedisStoreOptions): Promise<Setting> => {
  const { log, lines } = capturedLog('warn');
  const opened = await openRedisStore({ timeout_ms: 1000, log, ...options });
  cleanUps.push(() => opened.store.close());
  return new Setting(opened, lines);
};

/** The tokens of the day in `redis` are those that the load has used, and nothing was dropped. */
const expectExact = async (setting: Setting, redis: RedisServer, running: LimitLoad) => {
  await running.stop();
  await setting.opened.store.settled();
  expect(running).toMatchObject({ refused: 0, failed: 0 });
  expect(Number(await redis.cli('HGET', 'sluice:{a}:tokens_per_day', 'used'))).toBe(7 * running.admitted);
  expect(await setting.waiting()).toBe(0);
};

describe('a Redis that cannot be written', () => {
  it('causes an outage that loses no settlement when it is out of memory', async () => {
    const redis = await start();
    const setting = await open({ url: redis.url });
    const running = setting.load();
    await until(() => running.admitted > 20);
    await redis.cli('CONFIG', 'SET', 'maxmemory', '1');
    await until(setting.isOut);
    expect(String(setting.opened.store.outage?.cause)).toContain('OOM');
    await until(async () => (await setting.waiting()) > 50);
    await redis.cli('CONFIG', 'SET', 'maxmemory', '0');
    await until(setting.isBack);
    await expectExact(setting, redis, running);
    expect(await setting.outages()).toBe(1);
    expect(setting.logged('the state store is down: circuit breaker opened')).toBe(1);
    expect(setting.logged('the state store is back: circuit breaker closed')).toBe(1);
  });

  it('causes an outage that loses no settlement while it loads its data', async () => {
    const redis = await start({
      persistent: true,
      args: ['--key-load-delay', '10000', '--loading-process-events-interval-bytes', '1024'],
    });
    await redis.cli('EVAL', "for i = 1, 200 do redis.call('SET', i, string.rep('x', 1024)) end", '0');
    await redis.cli('BGREWRITEAOF');
    await until(async () =>
      (await redis.cli('INFO', 'persistence')).includes(
        'aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0',
      ),
    );
    const setting = await open({ url: redis.url });
    const running = setting.load();
    await until(() => running.admitted > 20);
    const restarted = redis.restart();
    const probed = () => setting.opened.remote.serverOf('a').heartbeat(15_000).catch(String);
    await until(async () => String(await probed()).includes('LOADING'));
    await restarted;
    await until(setting.isBack);
    await expectExact(setting, redis, running);
  });
});

describe('a demoted Redis primary', () => {
  it('is replaced by the new primary under its name without losing a count', async () => {
    const first = await start();
    const second = await start({ args: ['--replicaof', '127.0.0.1', `${first.port}`] });
    const info = (redis: RedisServer) => redis.cli('INFO', 'replication');
    await until(async () => (await info(first)).includes('state=online'));
    const relay = await relayTo(first);
    const setting = await open({ url: relay.url });
    const running = setting.load();
    await until(() => running.admitted > 20);
    await first.cli('FAILOVER', 'TO', '127.0.0.1', `${second.port}`);
    await until(setting.isOut);
    await until(async () => (await info(first)).includes('role:slave'));
    // The name still leads to the replica: it is tried again and again.
    const { connections } = relay;
    await until(() => relay.connections > connections);
    relay.port = second.port;
    await until(setting.isBack);
    const { admitted } = running;
    const alone = await setting.opened.metric('sluice_state_alone_total');
    await until(() => running.admitted > admitted + 20);
    expect(await setting.opened.metric('sluice_state_alone_total')).toBe(alone);
    await expectExact(setting, second, running);
    expect(await setting.outages()).toBe(1);
  });
});

describe('a lost reply of Redis', () => {
  it('counts neither a reservation nor a settlement twice', async () => {
    const redis = await start();
    const relay = await relayTo(redis);
    const setting = await open({ url: relay.url, timeout_ms: 300 });
    const used = async () => Number(await redis.cli('HGET', 'sluice:{a}:tokens_per_day', 'used'));
    // Redis knows the scripts from now on, so that it runs them before it answers.
    const first = await setting.reserve();
    if (first.admitted) first.reservation.settle(charge(0, 0, 0));
    await setting.opened.store.settled();
    const taken = await setting.reserve();
    expect(await used()).toBe(10);
    relay.swallowsReplies = true;
    if (taken.admitted) taken.reservation.settle(charge(25));
    const unheard = await setting.reserve();
    await until(async () => (await used()) === 35);
    if (unheard.admitted) unheard.reservation.settle(charge(7));
    await until(async () => (await setting.waiting()) === 1);
    relay.swallowsReplies = false;
    await until(async () => (await setting.waiting()) === 0 && setting.isBack());
    await setting.opened.store.settled();
    expect(await used()).toBe(32);
  });
});

describe('a Redis that is killed', () => {
  it('learns the requests in flight again after losing its data', async () => {
    const redis = await start();
    const setting = await open({ url: redis.url, timeout_ms: 400 });
    const wide = [...limits, limit('concurrent_requests', 1e6)];
    const take = () => setting.reserve({ limits: wide });
    /** Waits for tokens and leases in Redis; asked again where a busy machine took longer than the time-out. */
    const counted = (are: (tokens: number, leases: number) => boolean) =>
      until(async () => {
        await setting.opened.store.settled();
        const [tokens = 0, , leases = 0] = await setting.opened.used('a', wide).catch(() => []);
        return (await setting.waiting()) === 0 && are(tokens, leases);
      });
    const before = [await take(), await take()];
    await redis.kill();
    const noticing: ReservationResult[] = [];
    await until(async () => {
      noticing.push(await take());
      return setting.isOut();
    });
    const meanwhile = [await take()];
    await redis.restart();
    await until(setting.isBack);
    await counted((_, leases) => leases >= 3);
    expect(await setting.opened.metric('sluice_state_alone_total')).toBeGreaterThan(0);
    for (const taken of [...before, ...meanwhile]) if (taken.admitted) taken.reservation.settle(charge(7));
    // What runs counts with what it has reserved.
    const reserved = 10 * noticing.length;
    await counted((tokens, leases) => tokens === 21 + reserved && leases === noticing.length);
    for (const taken of noticing) if (taken.admitted) taken.reservation.settle(charge(0, 0, 0));
    await counted((tokens, leases) => tokens === 21 && leases === 0);
  });
});

it('a wrong password of Redis is reported, and the right one is used', async () => {
  const { url } = await start({ args: ['--requirepass', 'secret'] });
  const wrong = await open({ url });
  await until(wrong.isOut);
  expect(String(wrong.opened.store.outage?.cause)).toContain('NOAUTH');
  const right = await open({ url: url.replace('//', '//:secret@') });
  expect((await right.reserve()).admitted).toBe(true);
  expect(await right.opened.metric('sluice_state_alone_total')).toBe(0);
});
