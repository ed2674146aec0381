import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultModels } from '../../../src/config/example-models.ts';
import type { GatewayConfig } from '../../../src/config/schema.ts';
import { clientKey, upstreamKey } from '../../support/gateway-under-test.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts';
import { type RecordsPlace, recordsPlace } from '../../support/records-place.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { TcpRelay } from '../../support/tcp-relay.ts';
import { until } from '../../support/until.ts';
import { GatewayProcess } from './gateway-process.ts';
import type { LedgerComparison } from './ledger-comparison.ts';
import { ProviderProcess } from './provider-process.ts';
import type { RunOptions, Servers } from './scenario.ts';

/** Far above what any run uses: limits that count and never refuse. */
const plan = { requests_per_minute: 1e6, tokens_per_day: 1e12, concurrent_requests: 10_000 };
export const account = 'tester';

/** All servers of one run, and what can be done to them. */
export class Deployment {
  readonly gateways: readonly GatewayProcess[];
  readonly providers: readonly ProviderProcess[];
  readonly redis: RedisServer[] = [];
  readonly options: RunOptions;
  relay: TcpRelay | undefined;
  /** Steps of the scenario that are not done. */
  steps_left = 0;
  postgres: PostgresServer | undefined;
  /** The records store, and the queue of the ledger. */
  records!: RecordsPlace;
  readonly #servers: Servers;
  #isMounted = false;
  #turn = 0;

  constructor(servers: Servers, comparison: LedgerComparison, options: RunOptions) {
    const { gateways = 1, providers = 1, provider } = servers;
    this.#servers = servers;
    this.options = options;
    const [onLine, config] = [(line: string) => comparison.line(line), () => this.#config()];
    const simulated = { api_key: null, ...provider };
    this.gateways = listOf(gateways, n => new GatewayProcess(`g${n}`, config, onLine));
    this.providers = listOf(
      providers,
      n => new ProviderProcess(`p${n}`, simulated, (...report) => comparison.call(...report)),
    );
  }

  async start(): Promise<void> {
    const { redis, postgres, small_disk } = this.#servers;
    await Promise.all([...this.providers.map(each => each.start()), redis && this.#startRedis(redis)]);
    // Alone: making a database blocks this process.
    if (postgres) this.postgres = await startPostgres();
    this.records = await recordsPlace(this.postgres?.url);
    if (small_disk) this.#mount();
    await Promise.all(this.gateways.map(each => each.start()));
  }

  /** An instance that takes requests, in turns; the first one where none does. */
  pickGateway(): GatewayProcess {
    const up = this.gateways.filter(({ isUp }) => isUp);
    return up[this.#turn++ % Math.max(1, up.length)] ?? this.gateways[0]!;
  }

  /** Leaves less than a page on the small disk. */
  fillDisk(): void {
    if (!this.#isMounted) return this.#limitFiles('16384');
    try {
      writeFileSync(this.#ballast, Buffer.alloc(64 * 1024 * 1024));
    } catch {
      // The disk is full, as intended.
    }
  }

  freeDisk(): void {
    if (this.#isMounted) rmSync(this.#ballast, { force: true });
    else this.#limitFiles('unlimited');
  }

  async stop(): Promise<void> {
    for (const paused of [...this.redis, this.postgres, ...this.providers, ...this.gateways])
      paused?.resume();
    await Promise.allSettled(this.gateways.map(each => each.stop()));
    await Promise.allSettled([
      ...this.providers.map(each => each.kill()),
      ...this.redis.map(each => each.stop()),
      this.postgres?.stop(),
      this.relay?.close(),
    ]);
    if (this.#isMounted) execFileSync('umount', ['-l', this.records.directory]);
    await this.records?.remove();
  }

  get #ballast(): string {
    return join(this.records.directory, 'ballast');
  }

  async #startRedis(how: 'one' | 'relayed'): Promise<void> {
    const primary = await startRedis({ persistent: true });
    this.redis.push(primary);
    if (how === 'one') return;
    const args = ['--replicaof', `127.0.0.1 ${primary.port}`];
    const replica = await startRedis({ persistent: true, args });
    this.redis.push(replica);
    this.relay = new TcpRelay(primary.port);
    await this.relay.listen();
    await until(
      async () => (await replica.cli('INFO', 'replication')).includes('master_link_status:up'),
      30_000,
    );
  }

  #config(): GatewayConfig {
    const { config = given => given } = this.#servers;
    const url = this.relay?.url ?? this.redis[0]?.url;
    const upstream = { adapter: 'vllm', api_key: upstreamKey };
    const given = {
      admin: {},
      server: { max_body_bytes: 1024 * 1024, unready_ms: 300 },
      log: { level: 'info' },
      providers: Object.fromEntries(
        this.providers.map(({ name, url: base_url }) => [name, { ...upstream, base_url }]),
      ),
      models: defaultModels('p1').map(model => ({
        ...model,
        upstreams: this.providers.map(({ name }) => ({ ...model.upstreams[0], provider: name })),
      })),
      plans: { wide: plan },
      accounts: { [account]: { plan: 'wide', keys: [{ value: clientKey }] } },
      // A busy machine is slow: that is not an outage yet.
      stores: { ...this.records.stores, ...(url && { state: url, state_timeout_ms: 2000 }) },
    };
    return config(given as unknown as GatewayConfig, this.options);
  }

  #mount(): void {
    const args = ['-t', 'tmpfs', '-o', 'size=24m', 'sluice-chaos', this.records.directory];
    try {
      execFileSync('mount', args, { stdio: 'ignore' });
      this.#isMounted = true;
    } catch {
      // Only root may: files of the gateways are limited instead.
    }
  }

  #limitFiles(bytes: string): void {
    for (const { pid } of this.gateways)
      execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
  }
}

const listOf = <T>(count: number, make: (number: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at + 1));
