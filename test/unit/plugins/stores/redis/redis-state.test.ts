import { afterAll, beforeAll, expect } from '@jest/globals';
import { type RedisServer, startRedis } from '../../../../support/redis-server.ts';
import { openRedisStore } from '../../../../support/redis-store.ts';
import { describeStateStore } from '../../../../support/state-store-contract.ts';

let redis: RedisServer;
let opened = 0;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(() => redis?.stop());

describeStateStore('Redis', async clock => {
  const key_prefix = `test-${++opened}:`;
  const lease_ms = 15_000;
  const options = { url: redis.url, clock, fakeTime: true, key_prefix, lease_ms };
  const { store, metric } = await openRedisStore({
    // A machine that is busy with other tests is no outage.
    timeout_ms: 10_000,
    // The clock jumps over everything that is due meanwhile.
    remembered_ms: Number.MAX_SAFE_INTEGER,
    ...options,
  });
  return {
    store,
    lease_ms,
    settled: () => store.settled(),
    // What answers while Redis is down would keep the contract as well.
    async close() {
      expect(await metric('sluice_state_alone_total')).toBe(0);
      expect(await metric('sluice_store_errors_total')).toBe(0);
    },
  };
});
