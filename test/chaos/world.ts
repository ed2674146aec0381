import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { defaultModels } from '../../src/catalog/default-models.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { openRecords, type RecordsStore } from '../../src/stores/records/records-store.ts';
import { targetOf } from '../../src/stores/records/records-target.ts';
import { clientKey, upstreamKey } from '../support/gateway-under-test.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import type { Books } from './books.ts';
import { GatewayProcess } from './gateway-process.ts';
import { ProviderProcess } from './provider-process.ts';
import { Relay } from './relay.ts';
import type { RunOptions, Servers } from './scenario.ts';

/** Far above what any run uses: limits that count and never refuse. */
const plan = { requests_per_minute: 1e6, tokens_per_day: 1e12, concurrent_requests: 10_000 };
export const account = 'tester';

/** All servers of one run, and what can be done to them. */
export class World {
  readonly directory = mkdtempSync(join(tmpdir(), 'sluice-chaos-'));
  readonly gateways: GatewayProcess[] = [];
  readonly providers: ProviderProcess[] = [];
  readonly redis: RedisServer[] = [];
  relay: Relay | undefined;
  postgres: PostgresServer | undefined;
  /** Where the records and the queue of the ledger are. */
  readonly disk = join(this.directory, 'disk');
  readonly options: RunOptions;
  readonly #servers: Servers;
  readonly #books: Books;
  #isMounted = false;
  #turn = 0;

  constructor(servers: Servers, books: Books, options: RunOptions) {
    this.#servers = servers;
    this.#books = books;
    this.options = options;
    chmodSync(this.directory, 0o755);
    mkdirSync(this.disk);
  }

  get records(): string {
    return this.postgres?.url ?? `sqlite:${join(this.disk, 'sluice.db')}`;
  }

  async start(): Promise<void> {
    const { gateways = 1, providers = 1, redis, postgres, small_disk, provider } = this.#servers;
    if (small_disk) this.#mount();
    for (let n = 0; n < providers; n++)
      this.providers.push(
        new ProviderProcess(`p${n + 1}`, { api_key: null, ...provider }, (...told) =>
          this.#books.call(...told),
        ),
      );
    await Promise.all([
      ...this.providers.map(each => each.start()),
      redis && this.#startRedis(redis === 'relayed'),
    ]);
    // Alone: making a database blocks this process.
    if (postgres) this.postgres = await startPostgres();
    for (let n = 0; n < gateways; n++)
      this.gateways.push(
        new GatewayProcess(
          `g${n + 1}`,
          this.directory,
          () => this.#config(),
          line => this.#books.line(line),
        ),
      );
    await Promise.all(this.gateways.map(each => each.start()));
  }

  /** An instance that takes requests, in turns; the first one where none does. */
  pick(): GatewayProcess {
    const up = this.gateways.filter(({ isUp }) => isUp);
    return up[this.#turn++ % Math.max(1, up.length)] ?? this.gateways[0]!;
  }

  /** Opens the records store beside the gateways, for a look. */
  async look<T>(at: (store: RecordsStore) => Promise<T>): Promise<T> {
    const store = await openRecords(targetOf(this.records, this.directory)!);
    try {
      await store.migrate(Date.now());
      return await at(store);
    } finally {
      await store.close();
    }
  }

  /** Leaves less than a page on the small disk. */
  fillDisk(): void {
    if (!this.#isMounted) return this.#limitFiles('16384');
    try {
      writeFileSync(join(this.disk, 'ballast'), Buffer.alloc(64 * 1024 * 1024));
    } catch {
      // It is full, which is what was wanted.
    }
  }

  freeDisk(): void {
    if (this.#isMounted) rmSync(join(this.disk, 'ballast'), { force: true });
    else this.#limitFiles('unlimited');
  }

  async stop(): Promise<void> {
    for (const { resume } of this.redis) resume();
    this.postgres?.resume();
    for (const paused of [...this.providers, ...this.gateways]) paused.resume();
    await Promise.allSettled(this.gateways.map(each => each.stop()));
    await Promise.allSettled([
      ...this.providers.map(each => each.kill()),
      ...this.redis.map(each => each.stop()),
      this.postgres?.stop(),
      this.relay?.close(),
    ]);
    if (this.#isMounted) execFileSync('umount', ['-l', this.disk]);
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  async #startRedis(isRelayed: boolean): Promise<void> {
    this.redis.push(await startRedis({ persistent: true }));
    if (!isRelayed) return;
    const [primary] = this.redis;
    const replica = await startRedis({
      persistent: true,
      args: ['--replicaof', `127.0.0.1 ${primary!.port}`],
    });
    this.redis.push(replica);
    this.relay = new Relay(primary!.port);
    await this.relay.listen();
    for (
      let tries = 0;
      !(await replica.cli('INFO', 'replication')).includes('master_link_status:up');
      tries++
    ) {
      if (tries > 200) throw new Error('the replica does not follow');
      await after(50);
    }
  }

  #config(): GatewayConfig {
    const { config = given => given } = this.#servers;
    const upstream = { adapter: 'vllm', api_key: upstreamKey };
    const names = this.providers.map(({ name }) => name);
    const models = defaultModels('p1').map(model => ({
      ...model,
      upstreams: names.map(provider => ({ ...model.upstreams[0], provider })),
    }));
    const url = this.relay?.url ?? this.redis[0]?.url;
    const stores = {
      records: this.records,
      ledger_queue: join(this.disk, 'queue.db'),
      // A busy machine is slow: that is not an outage yet.
      ...(url && { state: url, state_timeout_ms: 2000 }),
    };
    const given = {
      admin: {},
      server: { max_body_bytes: 1024 * 1024, unready_ms: 300 },
      log: { level: 'info' },
      providers: Object.fromEntries(
        this.providers.map(({ name, url }) => [name, { ...upstream, base_url: url }]),
      ),
      models,
      plans: { wide: plan },
      accounts: { [account]: { plan: 'wide', keys: [{ value: clientKey }] } },
      stores,
    } as unknown as GatewayConfig;
    return config(given, this.options);
  }

  #mount(): void {
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'sluice-chaos', this.disk], {
        stdio: 'ignore',
      });
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
