import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { slotOf } from '../../plugins/stores/redis/key-slot.ts';
import { RedisCache } from '../../plugins/stores/redis/redis-cache.ts';
import { checkState } from '../../src/cli/doctor/store-checks.ts';
import { stateServerAt } from '../../src/config/state-server.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { StoreMetrics } from '../../src/telemetry/store-metrics.ts';
import { freePort } from '../support/free-port.ts';
import { closeStores, type LimitLoad, loadOf, stopLoads, storeOf } from '../support/limit-load.ts';
import { type RedisClusterServers, startRedisCluster } from '../support/redis-cluster-servers.ts';
import type { RedisStore, RedisStoreOptions } from '../support/redis-store.ts';
import { limit } from '../support/state-store-contract.ts';
import { until } from '../support/until.ts';

let cluster: RedisClusterServers;

afterEach(closeStores);
afterAll(() => cluster?.stop());

/** As long as a machine that is busy with other tests may need; a node that is lost is noticed by its connection. */
const patient_ms = 10_000;

const open = (options: Partial<RedisStoreOptions> = {}): Promise<RedisStore> =>
  storeOf({ url: cluster.url, timeout_ms: patient_ms, ...options });
const limitsOf = (max: number) => [
  limit('requests_per_minute', max),
  limit('tokens_per_day', 10_000_000),
  limit('concurrent_requests', 50),
];
const load = (opened: readonly RedisStore[], account: string, max: number): LimitLoad =>
  loadOf(opened, account, limitsOf(max));
const alone = async (opened: readonly RedisStore[]): Promise<number> =>
  (await Promise.all(opened.map(({ metric }) => metric('sluice_state_alone_total')))).reduce(
    (sum, one) => sum + one,
    0,
  );
/** Resolves when so many more exchanges are decided. */
const more = async (running: LimitLoad, count: number): Promise<void> => {
  const from = running.decided;
  await until(() => running.decided >= from + count, 15_000);
};
/** The amount that an account has used of its day, by the server that answers. */
const tokensOfDay = async (opened: RedisStore, account: string): Promise<number> => {
  const [used] = await opened.used(account, [limit('tokens_per_day', 10_000_000)]);
  return used!;
};

describe('limits in a Redis Cluster', () => {
  beforeAll(async () => {
    cluster = await startRedisCluster();
  });

  it('are what `sluice doctor` asks every primary for, by the first node that answers, and it changes nothing', async () => {
    const [first, second] = cluster.servers;
    const found = async (...ports: readonly number[]) => {
      const hosts = ports.map(port => `127.0.0.1:${port}`).join();
      return (await checkState(stateServerAt(`redis+cluster://${hosts}`))).map(
        ({ status, found }) => `${status}: ${found}`,
      );
    };
    const findings = await found(await freePort(), second!.port);
    expect(findings).toHaveLength(4);
    expect(findings[0]).toMatch(/^fault: .*ECONNREFUSED/);
    // A busy machine is slow, of which it warns.
    const well = /^(?:ok|warning): redis:\/\/127\.0\.0\.1:\d+, version .*, answers in/;
    for (const each of findings.slice(1)) expect(each).toMatch(well);
    await first!.cli('CONFIG', 'SET', 'cluster-require-full-coverage', 'yes');
    expect((await found(first!.port))[0]).toMatch(/^warning: cluster-require-full-coverage is yes/);
    await first!.cli('CONFIG', 'SET', 'cluster-require-full-coverage', 'no');
    expect(await Promise.all(cluster.servers.map(({ cli }) => cli('DBSIZE')))).toEqual(['0', '0', '0']);
  });

  it('are held exactly while the slots of accounts are moved under load', async () => {
    const opened = [await open(), await open()];
    const account = cluster.accountAt(0);
    const running = load(opened, account, 400);
    const other = load(opened, cluster.accountAt(1), 400);
    for (const [from, to] of [
      [0, 1],
      [1, 2],
      [2, 0],
      [0, 2],
      [2, 0],
    ] as const) {
      await more(running, 20);
      await cluster.moveSlot(slotOf(account), from, to);
    }
    await until(() => running.refused > 20 && other.refused > 20);
    await stopLoads();
    await Promise.all(opened.map(({ store }) => store.settled()));
    expect([running.admitted, running.failed, other.admitted, other.failed]).toEqual([400, 0, 400, 0]);
    expect(await alone(opened)).toBe(0);
    // Each is settled once, wherever it was reserved.
    expect(await tokensOfDay(opened[0]!, account)).toBe(400 * 7);
  });

  it('decide an account without the store while its slot is between two servers, and others with it', async () => {
    const opened = [await open({ timeout_ms: 500, policies: { default: 'closed' } })];
    const [moved, same] = [cluster.accountAt(0, 1), cluster.accountAt(0, 2)];
    const running = load(opened, moved, 1_000_000);
    const other = load(opened, same, 1_000_000);
    await more(running, 5);
    await other.stop();
    const [source, target] = await Promise.all([0, 1].map(at => cluster.servers[at]!.cli('CLUSTER', 'MYID')));
    const setSlot = (server: number, ...words: string[]) =>
      cluster.servers[server]!.cli('CLUSTER', 'SETSLOT', `${slotOf(moved)}`, ...words);
    await setSlot(1, 'IMPORTING', source!);
    await setSlot(0, 'MIGRATING', target!);
    await until(() => running.failed > 0);
    const still = load(opened, same, 1_000_000);
    await more(still, 20);
    expect([still.failed, opened[0]!.store.outage]).toEqual([0, undefined]);
    await setSlot(0, 'STABLE');
    await setSlot(1, 'STABLE');
    await more(running, 20);
  });

  it('know the instances at every primary, and keep what stages cache on all of them', async () => {
    const [one] = [await open(), await open(), await open()];
    await until(async () => {
      await Promise.all(one!.remote.servers().map(server => server.heartbeat(15_000)));
      return (await one!.metric('sluice_state_instances')) >= 1;
    });
    expect(await Promise.all(one!.remote.servers().map(server => server.heartbeat(15_000)))).toEqual([
      3, 3, 3,
    ]);
    const cache = new RedisCache({
      url: cluster.url,
      key_prefix: 'test:',
      connect_timeout_ms: patient_ms,
      timeout_ms: patient_ms,
      log: createLog('silent'),
      metrics: new StoreMetrics(new Registry()),
    });
    try {
      for (let at = 0; at < 30; at++)
        await until(async () => {
          await cache.set(`${at}`, `value ${at}`, 60_000);
          return (await cache.get(`${at}`)) === `value ${at}`;
        });
      const sizes = await Promise.all(cluster.servers.map(({ cli }) => cli('KEYS', 'test:cache:*')));
      expect(sizes.every(keys => keys !== '')).toBe(true);
    } finally {
      await cache.close();
    }
  });

  it('affect only the accounts of a server that is lost, until it is back', async () => {
    const opened = [await open(), await open()];
    const [kept, lost] = [
      load(opened, cluster.accountAt(0), 1_000_000),
      load(opened, cluster.accountAt(2), 1_000_000),
    ];
    await more(lost, 20);
    await cluster.servers[2]!.kill();
    await until(() => opened.every(({ store }) => store.outage !== undefined), 15_000);
    expect(opened[0]!.store.outage).toMatchObject({
      refuses: false,
      cause: { message: expect.stringContaining('1 of 3 servers: ') },
    });
    kept.longest_ms = 0;
    const decidedAlone = await alone(opened);
    await lost.stop();
    await more(kept, 200);
    expect(await alone(opened)).toBeLessThanOrEqual(decidedAlone + lost.decided);
    const settled = await alone(opened);
    await more(kept, 200);
    expect([await alone(opened), kept.failed]).toEqual([settled, 0]);
    // One that starts meanwhile serves the accounts of the others as well.
    const late = await open();
    const alsoKept = load([late], cluster.accountAt(1), 1_000_000);
    await more(alsoKept, 20);
    expect(await alone([late])).toBe(0);
    await cluster.servers[2]!.restart();
    await until(() => [...opened, late].every(({ store }) => store.outage === undefined), 15_000);
    // Also by one that knows it as lost: an operation counts as failed until it is tried again.
    const again = load([late, opened[0]!], cluster.accountAt(2), 1_000_000);
    await more(again, 20);
    await until(async () => (await opened[0]!.metric('sluice_store_up')) === 2, 15_000);
  });

  it('leave no connection behind', async () => {
    const opened = await open();
    const running = load([opened], cluster.accountAt(0), 100);
    await more(running, 10);
    await running.stop();
    await closeStores();
    await until(async () =>
      (await cluster.infos('clients')).every(text => /connected_clients:1\b/.test(text)),
    );
  });
});
