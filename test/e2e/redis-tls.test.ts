import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startRedisCluster } from '../support/redis-cluster-servers.ts';
import { startRedisSentinel } from '../support/redis-sentinel-servers.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { type Fleet, type FleetOptions, startFleet } from '../support/sidecar-fleet.ts';
import { type TlsFiles, tlsFiles } from '../support/tls-files.ts';
import { until } from '../support/until.ts';

/** A Redis of one server or several, as tests start it. */
interface Started {
  readonly url: string;
  readonly servers?: readonly RedisServer[];
  stop(): Promise<void>;
}

let tls: TlsFiles;
let redis: Started | undefined;
let fleet: Fleet | undefined;

beforeAll(async () => {
  tls = await tlsFiles();
});
afterEach(async () => {
  await fleet?.stop();
  await redis?.stop();
  fleet = redis = undefined;
});
afterAll(() => tls.remove());

const served = async (state: string, more: Partial<FleetOptions> = {}): Promise<Fleet> => {
  fleet = await startFleet({
    instances: 2,
    limits: { tester: { requests_per_minute: 10, concurrent_requests: 20 } },
    stores: { state, state_timeout_ms: 4000, on_state_store_down: { default: 'closed' } },
    environment: { NODE_EXTRA_CA_CERTS: tls.cert },
    ...more,
  });
  return fleet;
};

/** Each speaks TLS only. */
const kinds: readonly [string, () => Promise<Started>][] = [
  ['one server', () => startRedis({ tls })],
  ['a cluster', () => startRedisCluster({ tls })],
  ['Sentinels and their primary', () => startRedisSentinel({ tls })],
];

describe('a Redis that speaks TLS only', () => {
  it.each(kinds)('shares limits between instances: %s', async (_, start) => {
    redis = await start();
    expect(redis.url).toMatch(/^rediss/);
    const sent = await (await served(redis.url)).sendMany('tester', 16);
    expect(sent.map(({ status }) => status).sort()).toEqual([...Array(10).fill(200), ...Array(6).fill(429)]);
  });

  it('is followed by Sentinels to the next primary', async () => {
    redis = await startRedisSentinel({ tls });
    const running = await served(redis.url, { limits: { tester: { concurrent_requests: 20 } } });
    expect((await running.send('tester')).status).toBe(200);
    await redis.servers![0]!.kill();
    await until(async () => (await running.send('tester')).status === 502);
    await until(async () => (await running.send('tester')).status === 200);
  });

  it.each(kinds)('is not used without its authority: %s', async (_, start) => {
    redis = await start();
    const running = await served(redis.url, { instances: 1, environment: {} });
    expect((await running.send('tester')).status).toBe(502);
    const told = async () => (await running.readiness(0)).text.includes('self-signed certificate');
    await until(told);
  });
});
