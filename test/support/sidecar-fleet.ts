import type { GatewayConfig } from '../../src/config/schema.ts';
import { CountingUpstream } from './counting-upstream.ts';
import { ask, sumOf } from './gateway-under-test.ts';
import { type RedisServer, startRedis } from './redis-server.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from './sidecar-process.ts';

type Limits = NonNullable<GatewayConfig['plans']>[string];

/** The outcome of one request as its client saw it. */
export interface Sent {
  readonly status: number;
  readonly headers: Headers;
  readonly took_ms: number;
  readonly text: string;
}

export interface FleetOptions {
  readonly instances: number;
  /** By account; each has a key of its own. */
  readonly limits: Readonly<Record<string, Limits>>;
  readonly stores?: NonNullable<GatewayConfig['stores']>;
  /** Keep the data of Redis when it is killed. */
  readonly persistent?: boolean;
  /** Variables of their environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Several sidecars, each a process of its own, that share one Redis and one upstream. */
export class Fleet {
  readonly redis: RedisServer;
  readonly upstream: CountingUpstream;
  readonly sidecars: readonly SidecarProcess[];
  #sent = 0;

  constructor(redis: RedisServer, upstream: CountingUpstream, sidecars: readonly SidecarProcess[]) {
    this.redis = redis;
    this.upstream = upstream;
    this.sidecars = sidecars;
  }

  /** One request of `account`, to the instances in turn, or to that one. */
  async send(account: string, instance = this.#sent++ % this.sidecars.length): Promise<Sent> {
    const began_ms = performance.now();
    const reply = await fetch(`${this.sidecars[instance]!.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keyOf(account)}`, 'content-type': 'application/json' },
      body: JSON.stringify(ask('Hello?')),
    });
    const text = await reply.text();
    return { status: reply.status, headers: reply.headers, took_ms: performance.now() - began_ms, text };
  }

  sendMany(account: string, count: number): Promise<Sent[]> {
    return Promise.all(Array.from({ length: count }, () => this.send(account)));
  }

  /** The tokens of the day that Redis counts for an account. */
  async tokensOfDay(account: string): Promise<number> {
    return Number(await this.redis.cli('HGET', `sluice:{${account}}:tokens_per_day`, 'used'));
  }

  /** The leases that Redis holds of an account, also those whose time is over. */
  async leases(account: string): Promise<number> {
    return Number(await this.redis.cli('ZCARD', `sluice:{${account}}:concurrent_requests`));
  }

  /** The reply of an instance to `/readyz`. */
  async readiness(instance: number): Promise<{ status: number; text: string }> {
    const reply = await fetch(`${this.sidecars[instance]!.adminUrl}/readyz`);
    return { status: reply.status, text: await reply.text() };
  }

  /** The sum of a metric over all instances, of the samples whose line includes `part`. */
  async metric(name: string, part = ''): Promise<number> {
    const texts = await Promise.all(
      this.sidecars.map(async ({ adminUrl }) => (await fetch(`${adminUrl}/metrics`)).text()),
    );
    const lines = texts.flatMap(text => text.split('\n')).filter(line => line.includes(part));
    return sumOf(lines.join('\n'), name);
  }

  async stop(): Promise<void> {
    this.redis.resume();
    this.upstream.release();
    await Promise.all(this.sidecars.map(sidecar => sidecar.stop()));
    await this.upstream.close();
    await this.redis.stop();
  }
}

const keyOf = (account: string): string => `sk-${account}-0123456789`;

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const { instances, limits, stores, persistent = false, environment } = options;
  const redis = await startRedis({ persistent });
  const upstream = new CountingUpstream();
  await upstream.listen();
  const config = sidecarConfig(upstream.url, {
    plans: limits,
    accounts: Object.fromEntries(
      Object.keys(limits).map(account => [account, { plan: account, keys: [{ value: keyOf(account) }] }]),
    ),
    stores: { state: redis.url, ...stores },
    log: { level: 'fatal' },
  });
  const started = await Promise.allSettled(
    Array.from({ length: instances }, () => startSidecar(config, environment)),
  );
  const sidecars = started.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []));
  const fleet = new Fleet(redis, upstream, sidecars);
  const failed = started.find(result => result.status === 'rejected');
  if (!failed) return fleet;
  await fleet.stop();
  throw failed.reason;
}
