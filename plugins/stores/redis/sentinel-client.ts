import type { RedisAddress } from './redis-address.ts';
import { clientOptions, loginOf, type NewClient, type RedisClient, socketOf } from './redis-client.ts';

/**
 * Clients of the primary that Sentinels name. One ends when it loses its server, or when the Sentinels name another; the next one asks them
 * again.
 */
export function sentinelClient(address: RedisAddress, connect_timeout_ms: number): NewClient {
  const { name, hosts, sentinel } = address;
  // One Sentinel that does not answer leaves time for the next.
  const each_ms = Math.ceil(connect_timeout_ms / (hosts.length + 1));
  let first = 0;
  return ({ createSentinel }, end): RedisClient => {
    const client = createSentinel({
      name,
      // Another one first at each attempt: they are asked in order.
      sentinelRootNodes: [...hosts.slice(first), ...hosts.slice(0, first)],
      nodeClientOptions: { ...clientOptions, ...loginOf(address), socket: socketOf(address, each_ms) },
      sentinelClientOptions: { ...clientOptions, ...loginOf(sentinel), socket: socketOf(address, each_ms) },
      RESP: 2,
      commandOptions: { timeout: 0 },
      maxCommandRediscovers: 0,
    });
    first = (first + 1) % hosts.length;
    let cause: Error | undefined;
    let isUp = false;
    // Of one Sentinel, where another may answer: the reason if none does.
    client.on('error', (error: unknown) => {
      cause ??= error instanceof Error ? error : new Error(String(error));
    });
    client.on('client-error', ({ type, error }: { type: string; error: Error }) => {
      if (type === 'MASTER' && isUp) end(error);
    });
    client.on('topology-change', ({ type }: { type: string }) => {
      if (type === 'MASTER_CHANGE' && isUp) end(new Error('the Sentinels name another primary'));
    });
    return {
      async connect() {
        try {
          await client.connect();
          isUp = true;
        } catch (error) {
          throw cause ?? error;
        }
      },
      send: command => client.sendCommand(false, command),
      // Waits for an attempt that is under way.
      destroy: () => void client.destroy().catch(() => {}),
    };
  };
}
