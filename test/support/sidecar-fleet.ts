import type { GatewayConfig } from '../../src/config/schema.ts';
import { post } from './chain-app.ts';
import { CountingUpstream } from './counting-upstream.ts';
import { ask, sumOf } from './gateway-under-test.ts';
import { type RedisServer, startRedis } from './redis-server.ts';
import { serveHere } from './sidecar-here.ts';
import { sidecarConfig, startSidecar } from './sidecar-process.ts';

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
  /** Make the last instance a process of its own, which can be killed. */
  readonly killable?: boolean;
}

/** One of several sidecars. */
interface Instance {
  readonly url: string;
  readonly adminUrl: string;
  stop(): Promise<unknown>;
}

/** Several sidecars that share one Redis and one upstream. */
export class Fleet {
  readonly redis: RedisServer;
  readonly upstream: CountingUpstream;
  readonly sidecars: readonly Instance[];
  /** Ends the last one with SIGKILL. */
  readonly kill: () => void;
  #sent = 0;

  constructor(
    redis: RedisServer,
    upstream: CountingUpstream,
    sidecars: readonly Instance[],
    kill: () => void,
  ) {
    this.redis = redis;
    this.upstream = upstream;
    this.sidecars = sidecars;
    this.kill = kill;
  }

  /** One request of `account`, to the instances in turn, or to that one. */
  async send(account: string, instance = this.#sent++ % this.sidecars.length): Promise<Sent> {
    const began_ms = performance.now();
    const reply = await post(`${this.sidecars[instance]!.url}/v1/chat/completions`, ask('Hello?'), {
      authorization: `Bearer ${keyOf(account)}`,
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

  /** The concurrency that Redis counts of an account, also of instances whose time is over. */
  async leases(account: string): Promise<number> {
    const script = `
      local shared = redis.call('HGET', KEYS[1], '')
      local row = shared and cmsgpack.unpack(shared).rows.concurrent_requests
      return row and row.running or 0`;
    return Number(await this.redis.cli('EVAL', script, '1', `sluice:{${account}}:leases`));
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
  const { instances, limits, stores, killable } = options;
  const redis = await startRedis();
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
  const sidecars: Instance[] = [];
  const fleet = (kill = () => {}) => new Fleet(redis, upstream, sidecars, kill);
  try {
    for (let at = killable ? 1 : 0; at < instances; at++) sidecars.push(await serveHere(config));
    if (!killable) return fleet();
    const last = await startSidecar(config);
    sidecars.push(last);
    return fleet(() => last.signal('SIGKILL'));
  } catch (error) {
    await fleet().stop();
    throw error;
  }
}
