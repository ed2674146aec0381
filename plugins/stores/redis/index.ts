import { defineStateStore } from '../../../src/plugin.ts';
import { examineRedis } from './examine-redis.ts';
import { redisAddressOf } from './redis-address.ts';
import { RedisCache } from './redis-cache.ts';
import { RedisState } from './redis-state.ts';

/** Counters, concurrency and caches in Redis or Valkey: a server, a cluster, or one that Sentinels watch. */
export const redisState = defineStateStore({
  name: 'redis',
  form: 'a URL such as redis://user:password@host:6379/0, rediss://host:6380, redis+cluster://host1:6379,host2:6379 or redis+sentinel://host1:26379,host2:26379/mymaster',
  serverAt(url) {
    if (!/^rediss?[+:]/.test(url)) return undefined;
    const address = redisAddressOf(url);
    return {
      needs: '@redis/client',
      tells: true,
      open: ({ metrics, ...setup }) => ({
        state: new RedisState({ ...setup, url }),
        cache: new RedisCache({ ...setup, url, metrics }),
      }),
      examine: how => examineRedis(address, how),
    };
  },
});
