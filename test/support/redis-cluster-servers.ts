import { slotOf } from '../../plugins/stores/redis/key-slot.ts';
import { freePort } from './free-port.ts';
import { type RedisOptions, type RedisServer, startRedis } from './redis-server.ts';
import { until } from './until.ts';

/** A Redis Cluster of real servers: three primaries, each with a replica if asked for. */
export interface RedisClusterServers {
  /** For `stores.state`. */
  readonly url: string;
  /** All of them: the three that were primaries first, then their replicas. */
  readonly servers: readonly RedisServer[];
  /** An account whose keys are on the primary of this index, by the slots at the start; another for each `nth`. */
  accountAt(primary: number, nth?: number): string;
  /** Moves a slot with its keys from one server to another, as redis-cli does. */
  moveSlot(slot: number, from: number, to: number): Promise<void>;
  /** The text of INFO of all servers that answer. */
  infos(section: string): Promise<string[]>;
  stop(): Promise<void>;
}

export interface RedisClusterOptions extends RedisOptions {
  readonly replicas?: boolean;
}

const ranges = [
  [0, 5460],
  [5461, 10_922],
  [10_923, 16_383],
] as const;

const options = [
  '--cluster-enabled yes',
  '--cluster-node-timeout 1000',
  '--cluster-require-full-coverage no',
  '--cluster-replica-validity-factor 0',
  '--repl-diskless-sync-delay 0',
  '--loglevel notice',
];

/** Starts one, and resolves when all slots are served and all replicas follow. */
export async function startRedisCluster({ replicas = false, tls, args = [] }: RedisClusterOptions = {}) {
  const encrypted = tls ? ['--tls-cluster', 'yes'] : [];
  const all = [...options.flatMap(option => option.split(' ')), ...encrypted, ...args];
  const count = replicas ? 6 : 3;
  const nodes = await Promise.all(
    Array.from({ length: count }, async () => {
      // By itself it would be one of those that outgoing connections use.
      const busPort = await freePort();
      return { busPort, server: await startRedis({ tls, args: [...all, '--cluster-port', `${busPort}`] }) };
    }),
  );
  const cluster = new Servers(nodes, tls ? 'rediss' : 'redis');
  try {
    await cluster.join();
    return cluster as RedisClusterServers;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

interface Node {
  readonly server: RedisServer;
  readonly busPort: number;
}

class Servers implements RedisClusterServers {
  readonly servers: readonly RedisServer[];
  readonly #firstBus: string;
  readonly #scheme: string;

  constructor(nodes: readonly Node[], scheme: string) {
    this.#scheme = scheme;
    this.servers = nodes.map(({ server }) => server);
    this.#firstBus = `${nodes[0]!.busPort}`;
  }

  get url(): string {
    return `${this.#scheme}+cluster://${this.servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
  }

  accountAt(primary: number, nth = 0): string {
    const [first, last] = ranges[primary]!;
    for (let at = 0, left = nth; ; at++) {
      const slot = slotOf(`a${at}`);
      if (slot >= first && slot <= last && left-- === 0) return `a${at}`;
    }
  }

  async moveSlot(slot: number, from: number, to: number): Promise<void> {
    const [source, target] = [this.servers[from]!, this.servers[to]!];
    const [sourceId, targetId] = await Promise.all([
      source.cli('CLUSTER', 'MYID'),
      target.cli('CLUSTER', 'MYID'),
    ]);
    await target.cli('CLUSTER', 'SETSLOT', `${slot}`, 'IMPORTING', sourceId);
    await source.cli('CLUSTER', 'SETSLOT', `${slot}`, 'MIGRATING', targetId);
    for (let keys = ['']; keys.length > 0; ) {
      keys = (await source.cli('CLUSTER', 'GETKEYSINSLOT', `${slot}`, '10')).split('\n').filter(Boolean);
      if (keys.length > 0)
        await source.cli('MIGRATE', '127.0.0.1', `${target.port}`, '', '0', '5000', 'KEYS', ...keys);
    }
    await target.cli('CLUSTER', 'SETSLOT', `${slot}`, 'NODE', targetId);
    await source.cli('CLUSTER', 'SETSLOT', `${slot}`, 'NODE', targetId);
  }

  async infos(section: string): Promise<string[]> {
    const texts = await Promise.all(this.servers.map(server => server.cli('INFO', section)));
    return texts.filter(text => text.includes(':'));
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map(server => server.stop()));
  }

  async join(): Promise<void> {
    const [first] = this.servers;
    for (const [at, [from, to]] of ranges.entries())
      await this.servers[at]!.cli('CLUSTER', 'ADDSLOTSRANGE', `${from}`, `${to}`);
    for (const [at, server] of this.servers.entries()) {
      await server.cli('CLUSTER', 'SET-CONFIG-EPOCH', `${at + 1}`);
      await server.cli('CLUSTER', 'MEET', '127.0.0.1', `${first!.port}`, this.#firstBus);
    }
    const info = (server: RedisServer) => server.cli('CLUSTER', 'INFO');
    const knows = (text: string) =>
      text.includes('cluster_state:ok') && text.includes(`cluster_known_nodes:${this.servers.length}`);
    await until(async () => (await Promise.all(this.servers.map(info))).every(knows), 15_000);
    await Promise.all(this.servers.slice(3).map((server, at) => this.#follow(server, this.servers[at]!)));
  }

  async #follow(replica: RedisServer, primary: RedisServer): Promise<void> {
    const id = await primary.cli('CLUSTER', 'MYID');
    await until(async () => (await replica.cli('CLUSTER', 'REPLICATE', id)) === 'OK', 15_000);
    await until(
      async () => (await replica.cli('INFO', 'replication')).includes('master_link_status:up'),
      15_000,
    );
  }
}
