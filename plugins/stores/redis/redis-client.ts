import type { RedisAddress } from './redis-address.ts';

/** The package @redis/client. */
export type Library = typeof import('@redis/client');

/** A client of node-redis for one connection to the server that takes writes. */
export interface RedisClient {
  /** Resolves when commands can be sent. */
  connect(): Promise<unknown>;
  send(command: string[]): Promise<unknown>;
  /** Ends what `connect` has begun. */
  destroy(): void;
}

/** Makes a client, which calls `end` once commands cannot be sent any more. */
export type NewClient = (library: Library, end: (why: Error) => void) => RedisClient;

/** Of every client: a new connection is a new client, without leftover state, and nothing waits in queues. */
export const clientOptions = {
  RESP: 2 as const,
  disableOfflineQueue: true,
  disableClientInfo: true,
  maintNotifications: 'disabled' as const,
  // The client's own limit covers a command only until it is sent.
  commandOptions: { timeout: 0 },
};

/** Options of a connection to any of the servers at an address. */
export const socketOf = ({ tls }: Pick<RedisAddress, 'tls'>, connect_timeout_ms: number) => ({
  reconnectStrategy: false as const,
  connectTimeout: connect_timeout_ms,
  ...(tls && { tls: true as const }),
});

/** User, password and database of an address. */
export const loginOf = ({ username, password, database = 0 }: Partial<RedisAddress>) => ({
  ...(username !== undefined && { username }),
  ...(password !== undefined && { password }),
  ...(database > 0 && { database }),
});

/** Clients of a single server. */
export function serverClient(address: RedisAddress, connect_timeout_ms: number): NewClient {
  const [host] = address.hosts;
  return (library, end) => {
    const client = library.createClient({
      ...clientOptions,
      ...loginOf(address),
      socket: { ...socketOf(address, connect_timeout_ms), ...host } as { host: string },
    });
    client.on('error', end);
    return {
      connect: () => client.connect(),
      send: command => client.sendCommand(command),
      destroy: () => client.destroy(),
    };
  };
}
