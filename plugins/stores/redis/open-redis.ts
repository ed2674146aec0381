import { redisAddressOf } from './redis-address.ts';
import { serverClient } from './redis-client.ts';
import { RedisCluster } from './redis-cluster.ts';
import { type ConnectionOptions, RedisConnection } from './redis-connection.ts';
import type { RedisServers } from './redis-servers.ts';
import { sentinelClient } from './sentinel-client.ts';

/** The Redis at `options.url`, which connects at first use. Throws an Error for a URL that is none. */
export function openRedis(options: ConnectionOptions): RedisServers {
  const address = redisAddressOf(options.url);
  if (address.kind === 'cluster') return new RedisCluster(options, address);
  const newClient = address.kind === 'sentinel' ? sentinelClient : serverClient;
  const server = new RedisConnection(options, newClient(address, options.connect_timeout_ms));
  return {
    only: server,
    of: () => server,
    all: () => [server],
    keyAt: (_server, prefix, name) => prefix + name,
    close: () => server.close(),
  };
}
