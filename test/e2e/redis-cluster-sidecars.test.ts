import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type RedisClusterServers, startRedisCluster } from '../support/redis-cluster-servers.ts';
import { type Fleet, startFleet } from '../support/sidecar-fleet.ts';
import { until } from '../support/until.ts';

let cluster: RedisClusterServers;
let fleet: Fleet;

beforeAll(async () => {
  cluster = await startRedisCluster({ replicas: true });
  const plan = { requests_per_minute: 1_000_000, tokens_per_day: 1_000_000_000, concurrent_requests: 100 };
  fleet = await startFleet({
    instances: 2,
    limits: { [cluster.accountAt(0)]: plan, [cluster.accountAt(1)]: plan },
    stores: { state: cluster.url, state_timeout_ms: 4000 },
  });
}, 60_000);
afterAll(async () => {
  await fleet?.stop();
  await cluster?.stop();
});

it('no client sees the loss of a primary of a Redis Cluster under load, and its replica counts on', async () => {
  const statuses = new Map<string, number[]>();
  let isRunning = true;
  const running = [0, 1].map(async at => {
    const account = cluster.accountAt(at);
    const seen: number[] = [];
    statuses.set(account, seen);
    while (isRunning) seen.push(...(await fleet.sendMany(account, 4)).map(({ status }) => status));
  });
  const sent = () => [...statuses.values()].every(({ length }) => length >= 20);
  await until(sent);
  await cluster.servers[0]!.kill();
  await until(async () => (await fleet.metric('sluice_state_alone_total')) > 0, 15_000);
  await until(async () => (await fleet.metric('sluice_store_up', 'store="state"')) === 10, 15_000);
  await until(async () => (await fleet.metric('sluice_state_settlements_waiting')) === 0, 15_000);
  isRunning = false;
  await Promise.all(running);
  expect([...statuses.values()].flatMap(each => each.filter(status => status !== 200))).toEqual([]);
  const used = () =>
    cluster.servers[3]!.cli('HGET', `sluice:{${cluster.accountAt(0)}}:tokens_per_day`, 'used');
  await until(async () => Number(await used()) > 0);
});
