import type { CacheStore, StoreHealth, StoreMetrics } from '../../../src/plugin.ts';
import { type Script, script } from './lua-script.ts';
import { openRedis } from './open-redis.ts';
import type { ConnectionOptions } from './redis-connection.ts';
import type { RedisServers } from './redis-servers.ts';

export interface RedisCacheOptions extends ConnectionOptions {
  /** Prefix of every key. */
  readonly key_prefix: string;
  readonly metrics: StoreMetrics;
}

const getScript = script("return redis.call('GET', KEYS[1])");

/**
 * Stores nothing while the server has used 80 % of its `maxmemory`: the rest is for the counters of limits, which cannot be written when
 * there is none. `INFO` may be forbidden to this user.
 */
const setScript = script(`
local memory = redis.pcall('INFO', 'memory')
if type(memory) == 'string' then
  local used, max = memory:match('used_memory:(%d+)'), memory:match('maxmemory:(%d+)')
  if used and max and tonumber(max) > 0 and tonumber(used) > tonumber(max) * 0.8 then return 0 end
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`);

/**
 * A cache in Redis or Valkey, shared by all that use the same server and prefix. Has a connection of its own, made at first use, so that
 * large texts delay no decision on limits. Without a connection, and for a time-out at most where the server is silent, nothing is found.
 */
export class RedisCache implements CacheStore {
  readonly #options: RedisCacheOptions;
  readonly #redis: RedisServers;
  readonly #health: StoreHealth<'get' | 'set'>;

  constructor(options: RedisCacheOptions) {
    this.#options = options;
    this.#health = options.metrics.health('cache', ['get', 'set']);
    this.#redis = openRedis(options);
  }

  async get(key: string): Promise<string | undefined> {
    const text = await this.#run('get', getScript, key, []);
    return typeof text === 'string' ? text : undefined;
  }

  async set(key: string, value: string, ttl_ms: number): Promise<void> {
    await this.#run('set', setScript, key, [value, ttl_ms]);
  }

  async close(): Promise<void> {
    await this.#redis.close();
  }

  async #run(
    operation: 'get' | 'set',
    script: Script,
    name: string,
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const { metrics, log, key_prefix } = this.#options;
    const key = `${key_prefix}cache:${name}`;
    const server = this.#redis.of(key);
    void server.started();
    const began_ms = performance.now();
    try {
      const answer = await server.run(script, [key], args);
      this.#health.succeeded(operation);
      return answer;
    } catch (err) {
      metrics.failed('cache', operation);
      this.#health.failed(operation);
      log.debug({ err, operation }, 'the cache does not answer');
      return undefined;
    } finally {
      metrics.asked('cache', operation, performance.now() - began_ms);
    }
  }
}
