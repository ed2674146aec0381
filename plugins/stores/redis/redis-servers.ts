import type { Script } from './lua-script.ts';

/** A server of Redis that takes writes. */
export interface RedisServer {
  /** Whether commands can be sent. */
  readonly ready: boolean;
  /** True once it holds no keys any more, or is closed. */
  readonly isGone: boolean;
  /** Starts connecting, unless it has. Resolves when the first connection is up or has failed. */
  started(): Promise<void>;
  /** Runs a script on keys of this server. Rejects with Unreachable, CannotServe or CommandRejected. */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
}

/** The servers that hold the keys of one Redis: a single one, or the primaries of a cluster. */
export interface RedisServers {
  /** The server that holds all keys, if it is always the same. */
  readonly only?: RedisServer;
  /** The server that holds a key at this moment. */
  of(key: string): RedisServer;
  /** All of them that are known at this moment. */
  all(): readonly RedisServer[];
  /** A key that `server` holds, the same in all instances: `name`, or one that ends in it. */
  keyAt(server: RedisServer, prefix: string, name: string): string;
  /** Closes all connections for good; pending commands fail. */
  close(): Promise<void>;
}
