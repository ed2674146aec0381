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
let fleet: Fleet | undefined;

beforeAll(async () => {
  tls = await tlsFiles();
});
afterEach(async () => {
  await fleet?.stop();
  fleet = undefined;
});
afterAll(() => tls?.remove());

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

describe.each<[string, () => Promise<Started>]>([
  ['a server', () => startRedis({ tls })],
  ['a cluster', () => startRedisCluster({ tls })],
  ['Sentinels and their servers', () => startRedisSentinel({ tls })],
])('TLS to %s of Redis', (kind, start) => {
  let redis: Started;

  beforeAll(async () => {
    redis = await start();
  }, 60_000);
  afterAll(() => redis?.stop());

  it('is how instances share limits', async () => {
    expect(redis.url).toMatch(/^rediss/);
    const sent = await (await served(redis.url)).sendMany('tester', 16);
    expect(sent.map(({ status }) => status).sort()).toEqual([...Array(10).fill(200), ...Array(6).fill(429)]);
  });

  if (kind === 'a server')
    it('is refused to a server whose authority is not known, and the reason is told', async () => {
      const running = await served(redis.url, { instances: 1, environment: {} });
      expect((await running.send('tester')).status).toBe(502);
      await until(async () => (await running.readiness(0)).text.includes('self-signed certificate'));
    });

  if (kind.startsWith('Sentinels'))
    it('is spoken with the next primary as well', async () => {
      const running = await served(redis.url, { limits: { tester: { concurrent_requests: 20 } } });
      expect((await running.send('tester')).status).toBe(200);
      await redis.servers![0]!.kill();
      await until(async () => (await running.send('tester')).status === 502);
      await until(async () => (await running.send('tester')).status === 200);
    });
});
