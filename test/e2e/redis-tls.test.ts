import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { closeStores, storeOf } from '../support/limit-load.ts';
import { startRedisCluster } from '../support/redis-cluster-servers.ts';
import { startRedisSentinel } from '../support/redis-sentinel-servers.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import type { RedisStore } from '../support/redis-store.ts';
import { charge, limit } from '../support/state-store-contract.ts';
import { type TlsFiles, tlsFiles } from '../support/tls-files.ts';
import { trustCertificate } from '../support/trusted-certificates.ts';
import { until } from '../support/until.ts';

/** A Redis of one server or several, as tests start it. */
interface Started {
  readonly url: string;
  readonly servers?: readonly RedisServer[];
  stop(): Promise<void>;
}

let tls: TlsFiles;
let distrust: () => void;

beforeAll(async () => {
  tls = await tlsFiles();
  distrust = trustCertificate(readFileSync(tls.cert, 'utf8'));
});
afterEach(closeStores);
afterAll(() => {
  distrust();
  return tls.remove();
});

const open = (url: string) => storeOf({ url, timeout_ms: 4000, policies: { default: 'closed' } });

/** Whether one more request is admitted; undefined while the store is down. */
async function admitted(
  { store }: RedisStore,
  max: number,
  account = 'tester',
): Promise<boolean | undefined> {
  const limits = [limit('requests_per_minute', max)];
  try {
    return (await store.reserve({ account, limits, charge: charge(1) })).admitted;
  } catch {
    return undefined;
  }
}

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
    const opened = [await open(redis.url), await open(redis.url)];
    // Servers that have just begun may be out for a moment on a busy machine.
    for (const one of opened) await until(async () => (await admitted(one, 1000, 'another')) === true);
    const all = await Promise.all(Array.from({ length: 16 }, (_, at) => admitted(opened[at % 2]!, 10)));
    expect(all.toSorted()).toEqual([...Array(6).fill(false), ...Array(10).fill(true)]);
  });

  if (kind === 'a server')
    it('is refused to a server whose authority is not known, and the reason is told', async () => {
      distrust();
      try {
        const opened = await open(redis.url);
        expect(await admitted(opened, 1000)).toBeUndefined();
        await until(() => String(opened.store.outage?.cause).includes('self-signed certificate'));
      } finally {
        distrust = trustCertificate(readFileSync(tls.cert, 'utf8'));
      }
    });

  if (kind.startsWith('Sentinels'))
    it('is spoken with the next primary as well', async () => {
      const opened = await open(redis.url);
      expect(await admitted(opened, 1000)).toBe(true);
      await redis.servers![0]!.kill();
      await until(async () => (await admitted(opened, 1000)) === undefined);
      await until(async () => (await admitted(opened, 1000)) === true);
    });
});
