import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type RedisServer, startRedis } from '../../../../../support/redis-server.ts';
import { openRedisStore } from '../../../../../support/redis-store.ts';
import { charge, limit } from '../../../../../support/state-store-contract.ts';
import { until } from '../../../../../support/until.ts';

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis({ args: ['--cluster-enabled', 'yes'] });
  await redis.cli('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await until(async () => (await redis.cli('CLUSTER', 'INFO')).includes('cluster_state:ok'));
});
afterAll(() => redis?.stop());

it('runs no script that spans several slots of a cluster', async () => {
  const { store, remote, metric } = await openRedisStore({ url: redis.url });
  const limits = [
    limit('requests_per_minute', 5),
    limit('tokens_per_minute', 500, 'm'),
    limit('tokens_per_day', 500),
    limit('concurrent_requests', 5),
    limit('usd_per_month', 500),
  ];
  try {
    for (const account of ['a', 'b', '', '{c}', 'd}e']) {
      const request = { id: `of-${account}`, account, limits, charge: charge(50, 50) };
      const taken = await store.reserve(request);
      if (!taken.admitted) throw new Error('refused');
      await remote.renew([{ request, reserved_ms: 0, life: 1 }]);
      taken.reservation.settle(charge(20, 90));
      await store.settled();
      const statuses = await remote.statuses(account, limits);
      expect(statuses.map(({ remaining }) => remaining)).toEqual([4, 480, 480, 5, 410]);
    }
    expect(await metric('sluice_state_store_errors_total')).toBe(0);
    expect(await metric('sluice_state_alone_total')).toBe(0);
  } finally {
    await store.close();
  }
});
