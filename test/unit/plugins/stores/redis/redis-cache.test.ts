import { afterEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { RedisCache } from '../../../../../plugins/stores/redis/redis-cache.ts';
import { openStateStore } from '../../../../../src/mount/state/open-state-store.ts';
import { createLog } from '../../../../../src/telemetry/log.ts';
import { StoreMetrics } from '../../../../../src/telemetry/store-metrics.ts';
import { freePort } from '../../../../support/free-port.ts';
import { type RedisOptions, type RedisServer, startRedis } from '../../../../support/redis-server.ts';
import { patience_ms, until } from '../../../../support/until.ts';

const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function redis(options?: RedisOptions): Promise<RedisServer> {
  const server = await startRedis(options);
  cleanUps.push(() => server.stop());
  return server;
}

function open(url: string, timeout_ms = 5000) {
  const log = createLog('silent');
  const metrics = new StoreMetrics(new Registry());
  const cache = new RedisCache({
    url,
    key_prefix: 'test:',
    connect_timeout_ms: 5000,
    timeout_ms,
    log,
    metrics,
  });
  cleanUps.push(() => cache.close());
  return cache;
}

/** Sets until it is found: the connection comes up on its own time. */
async function stored(cache: RedisCache, key: string, value: string): Promise<void> {
  await until(async () => {
    await cache.set(key, value, 60_000);
    return (await cache.get(key)) === value;
  });
}

describe('the cache in Redis', () => {
  it('is shared by all that use the server and the prefix', async () => {
    const { url, cli } = await redis();
    const [one, other] = [open(url), open(url)];
    await stored(one, 'key', 'välue \u{1f600}');
    await until(async () => (await other.get('key')) === 'välue \u{1f600}');
    expect(await other.get('another')).toBeUndefined();
    const left_ms = Number(await cli('PTTL', 'test:cache:key'));
    expect(left_ms).toBeGreaterThan(50_000);
    expect(left_ms).toBeLessThanOrEqual(60_000);
  });

  it('forgets a value when its TTL has passed', async () => {
    const cache = open((await redis()).url);
    await stored(cache, 'key', 'value');
    // One behind the other in one connection, or a busy machine would look too late.
    const [, found] = await Promise.all([cache.set('key', 'new', 100), cache.get('key')]);
    expect(found).toBe('new');
    await until(async () => (await cache.get('key')) === undefined);
  });

  it('has nothing without a server, and finds it once it is there', async () => {
    const cache = open(`redis://127.0.0.1:${await freePort()}`);
    expect(await cache.get('key')).toBeUndefined();
    await cache.set('key', 'value', 1000);
    const server = await redis();
    const late = open(server.url);
    await stored(late, 'key', 'value');
    await server.kill();
    expect(await late.get('key')).toBeUndefined();
    await server.restart();
    await stored(late, 'key', 'value');
  });

  it('has nothing once a silent server has taken its time-out, then at once', async () => {
    const server = await redis();
    const cache = open(server.url, 300);
    await stored(cache, 'key', 'value');
    server.pause();
    const began_ms = performance.now();
    expect(await cache.get('key')).toBeUndefined();
    expect(performance.now() - began_ms).toBeGreaterThan(200);
    for (let at = 0; at < 100; at++) expect(await cache.get('key')).toBeUndefined();
    expect(performance.now() - began_ms).toBeLessThan(patience_ms(2000));
    server.resume();
    await stored(cache, 'key', 'other');
  });

  it('leaves a fifth of the memory to the counters of limits', async () => {
    const { url, cli } = await redis({ args: ['--maxmemory', '16mb'] });
    const cache = open(url);
    await stored(cache, 'first', 'value');
    const large = 'x'.repeat(1_000_000);
    for (let at = 0; at < 30; at++) await cache.set(`large ${at}`, large, 60_000);
    const used = /used_memory:(\d+)/.exec(await cli('INFO', 'memory'))![1];
    expect(Number(used)).toBeGreaterThan(10_000_000);
    expect(Number(used)).toBeLessThan(15_000_000);
    expect(await cli('SET', 'a counter', '1')).toBe('OK');
  });

  it('stores values for a user who may not ask for the memory', async () => {
    const server = await redis();
    await server.cli('ACL', 'SETUSER', 'plain', 'on', '>secret', '~*', '+@all', '-info');
    await stored(open(`redis://plain:secret@127.0.0.1:${server.port}`), 'key', 'value');
  });

  it('comes and goes with the state store', async () => {
    const { url, cli } = await redis();
    const state = openStateStore({ state: url }, { log: createLog('silent') });
    await state.started!();
    await until(async () => {
      await state.cache!.set('key', 'value', 60_000);
      return (await state.cache!.get('key')) === 'value';
    });
    await state.close();
    await until(async () => /connected_clients:1\b/.test(await cli('INFO', 'clients')));
    expect(await state.cache!.get('key')).toBeUndefined();
  });
});
