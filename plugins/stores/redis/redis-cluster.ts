import { setTimeout as sleep } from 'node:timers/promises';
import { CommandRejected, Unreachable, within } from '../../../src/plugin.ts';
import { slotOf } from './key-slot.ts';
import type { Script } from './lua-script.ts';
import type { RedisAddress } from './redis-address.ts';
import { clientOptions, type Library, loginOf, type RedisClient, socketOf } from './redis-client.ts';
import { type ConnectionOptions, loadLibrary, RedisConnection } from './redis-connection.ts';
import type { RedisServer, RedisServers } from './redis-servers.ts';

const newCluster = ({ createCluster }: Library, address: RedisAddress, connect_timeout_ms: number) => {
  const socket = socketOf(address, connect_timeout_ms);
  return createCluster({
    rootNodes: address.hosts.map(host => ({ socket: { ...socket, ...host } as { host: string } })),
    defaults: { ...clientOptions, ...loginOf(address), socket },
    RESP: 2,
    commandOptions: { timeout: 0 },
    // A node that is down must not keep the others from being found.
    minimizeConnections: true,
    maxCommandRedirections: 5,
  });
};
type Cluster = ReturnType<typeof newCluster>;
type Primary = Cluster['masters'][number];

/** Pause before a slot that is being moved is asked again, and the share of the time limit for which it is. */
const try_again_ms = 5;
const try_again_part = 0.7;
/** Between two readings of the slots. */
const refresh_pause_ms = 100;

/**
 * The primaries of a Redis Cluster. node-redis follows redirections and knows the slots; each primary is a connection that is renewed by
 * itself, so that one which is silent delays only its own keys. While one cannot be reached, the others are asked who has its slots now.
 */
export class RedisCluster implements RedisServers {
  readonly #options: ConnectionOptions;
  readonly #address: RedisAddress;
  readonly #closing = new AbortController();
  readonly #nodes = new Map<Primary, RedisConnection>();
  readonly #unassigned = new Unassigned(this);
  #cluster: Cluster | undefined;
  /** The primaries that `#nodes` is of: another array once the slots have been read again. */
  #masters: readonly Primary[] = [];
  #refreshing: Promise<void> | undefined;
  #refresh_ms = 0;

  constructor(options: ConnectionOptions, address: RedisAddress) {
    this.#options = options;
    this.#address = address;
  }

  /** Whether each slot has a primary. */
  get isAssigned(): boolean {
    return this.#cluster !== undefined && !this.#cluster.slots.includes(undefined as never);
  }

  of(key: string): RedisServer {
    this.#follow();
    const primary = this.#cluster?.slots[slotOf(key)]?.master;
    return (primary && this.#nodes.get(primary)) ?? this.#unassigned;
  }

  all(): readonly RedisServer[] {
    this.#follow();
    return this.#nodes.size > 0 ? [...this.#nodes.values()] : [this.#unassigned];
  }

  keyAt(server: RedisServer, prefix: string, name: string): string {
    // A server has a 16,384th of the slots at least.
    for (let tag = 0; tag < 500_000; tag++) {
      const key = `${prefix}{${tag}}:${name}`;
      if (this.of(key) === server || server === this.#unassigned) return key;
    }
    throw new Unreachable('the server has no slot any more');
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#nodes.values()].map(node => node.close()));
    this.#cluster?.destroy();
    await this.#refreshing;
  }

  /** Reads again who has which slots, from a node that answers. Never rejects, and ends within the time limits for connecting. */
  refresh(): Promise<void> {
    if (this.#closing.signal.aborted || performance.now() < this.#refresh_ms) return Promise.resolve();
    this.#refreshing ??= this.#read().finally(() => {
      this.#refreshing = undefined;
      this.#refresh_ms = performance.now() + refresh_pause_ms;
    });
    return this.#refreshing;
  }

  async #read(): Promise<void> {
    const { connect_timeout_ms, log } = this.#options;
    try {
      const late = () => new Late(`no slots within ${connect_timeout_ms} ms`);
      const alive = [...this.#nodes].find(([, { ready }]) => ready)?.[0].client;
      const read = this.#cluster?._slots.rediscover(alive) ?? Promise.reject(new Late());
      await within(read, connect_timeout_ms, late).catch(error => {
        // Every later attempt would wait for the one that is stuck.
        if (!(error instanceof Late)) throw error;
        return this.#begin();
      });
    } catch (err) {
      log.debug({ err }, 'the slots of the Redis Cluster cannot be read');
      this.#unassigned.why = err as Error;
    }
    this.#follow();
  }

  async #begin(): Promise<void> {
    const { connect_timeout_ms } = this.#options;
    const cluster = newCluster(await loadLibrary(), this.#address, connect_timeout_ms);
    let cause: Error | undefined;
    cluster.on('error', (error: Error) => {
      cause = error;
    });
    try {
      const late = () => new Error(`no slots within ${connect_timeout_ms} ms`);
      await within(cluster.connect(), connect_timeout_ms, late);
    } catch (error) {
      cluster.destroy();
      throw cause ?? error;
    }
    this.#cluster?.destroy();
    this.#cluster = cluster;
    if (this.#closing.signal.aborted) cluster.destroy();
  }

  /** Makes `#nodes` those that the slots name. */
  #follow(): void {
    const masters = this.#cluster?.masters ?? [];
    if (masters === this.#masters || this.#closing.signal.aborted) return;
    this.#masters = masters;
    for (const [primary, node] of this.#nodes) {
      if (masters.includes(primary)) continue;
      this.#nodes.delete(primary);
      void node.close();
    }
    for (const primary of masters) {
      if (this.#nodes.has(primary)) continue;
      const node = this.#node(this.#cluster!, primary);
      this.#nodes.set(primary, node);
      void node.started();
    }
  }

  #node(cluster: Cluster, primary: Primary): RedisConnection {
    const newClient = (_library: Library, end: (why: Error) => void): RedisClient => ({
      async connect() {
        const client = await cluster.nodeClient(primary);
        client.on('error', end);
      },
      send: command => this.#send(cluster, command),
      destroy: () => {
        primary.client?.destroy();
        delete primary.client;
        // Another node may have its slots by now.
        void this.refresh();
      },
    });
    return new RedisConnection(this.#options, newClient);
  }

  /** Sends a script to the node that has its first key. */
  async #send(cluster: Cluster, command: string[]): Promise<unknown> {
    const until_ms = performance.now() + this.#options.timeout_ms * try_again_part;
    while (true) {
      try {
        return await cluster.sendCommand(command[3], false, command);
      } catch (error) {
        const { message } = error as Error;
        if (!message.startsWith('TRYAGAIN')) throw error;
        // Of one slot that is being moved: the server works.
        if (performance.now() > until_ms) throw new CommandRejected(message);
        await sleep(try_again_ms);
      }
    }
  }
}

/** Reading the slots took too long. */
class Late extends Error {}

/** Stands for the server of keys whose slot no primary has, and of all keys until the slots have been read. */
class Unassigned implements RedisServer {
  readonly ready = false;
  why = new Error('not connected yet');
  readonly #cluster: RedisCluster;

  constructor(cluster: RedisCluster) {
    this.#cluster = cluster;
  }

  get isGone(): boolean {
    return this.#cluster.isAssigned;
  }

  started(): Promise<void> {
    return this.#cluster.refresh();
  }

  async run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const server = this.#cluster.of(keys[0]!);
    if (server === this) throw new Unreachable(this.why.message, { cause: this.why });
    await server.started();
    return server.run(script, keys, args);
  }
}
