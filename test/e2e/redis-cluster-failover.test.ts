import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { closeStores, type LimitLoad, loadOf, storeOf } from '../support/limit-load.ts';
import { type RedisClusterServers, startRedisCluster } from '../support/redis-cluster-servers.ts';
import type { RedisStore } from '../support/redis-store.ts';
import { limit } from '../support/state-store-contract.ts';
import { until } from '../support/until.ts';

let cluster: RedisClusterServers;

beforeAll(async () => {
  cluster = await startRedisCluster({ replicas: true });
});
afterEach(closeStores);
afterAll(() => cluster?.stop());

const open = (policy: 'closed' | 'local' = 'closed'): Promise<RedisStore> =>
  storeOf({ url: cluster.url, timeout_ms: 1000, policies: { default: policy } });
const parallel = 3;
const load = (opened: readonly RedisStore[], account: string, max: number): LimitLoad => {
  const limits = [limit('requests_per_minute', max), limit('concurrent_requests', 50)];
  return loadOf(opened, account, limits, parallel);
};

describe('the failover of a primary in a Redis Cluster', () => {
  it.each([
    ['is killed', 0, (at: number) => cluster.servers[at]!.kill()],
    ['hangs', 1, async (at: number) => cluster.servers[at]!.pause()],
  ])('recovers by itself where the primary %s, and the limit holds over it', async (_, at, lose) => {
    const opened = [await open(), await open()];
    const max = 600;
    const [lost, kept] = [
      load(opened, cluster.accountAt(at), max),
      load(opened, cluster.accountAt(2, at), max),
    ];
    // Under this policy no client sees the loss.
    const local = load([await open('local')], cluster.accountAt(at, 1), 1_000_000);
    await until(() => lost.admitted > 50 && local.admitted > 50);
    await lose(at);
    await until(() => lost.failed > 0);
    const admitted = lost.admitted;
    expect(admitted).toBeLessThan(max);
    await until(() => lost.refused > 20 && kept.refused > 20, 15_000);
    // What a primary has not sent to its replica when it ends is lost: on a busy machine more than what was under way.
    expect(lost.admitted).toBeGreaterThan(admitted);
    expect(lost.admitted).toBeLessThanOrEqual(max + admitted);
    expect([kept.admitted, kept.failed, local.refused, local.failed]).toEqual([max, 0, 0, 0]);
    await until(() => opened.every(({ store }) => store.outage === undefined), 15_000);
    await until(async () => (await opened[0]!.metric('sluice_state_settlements_waiting')) === 0, 15_000);
    cluster.servers[at]!.resume();
  });
});
