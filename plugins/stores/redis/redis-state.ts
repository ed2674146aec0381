import { randomUUID } from 'node:crypto';
import {
  amountsOf,
  CannotServe,
  type Clock,
  CommandRejected,
  counterKey,
  type Hold,
  type Limit,
  type LimitStatus,
  type RemoteReservationResult,
  type RemoteServer,
  type RemoteState,
  type ReservationRequest,
  rowOf,
  type Settlement,
  TooLate,
} from '../../../src/plugin.ts';
import { openRedis } from './open-redis.ts';
import type { ConnectionOptions } from './redis-connection.ts';
import type { RedisServer, RedisServers } from './redis-servers.ts';
import { instancesScript, renewScript, reserveScript, settleScript, statusScript } from './state-scripts.ts';

export interface RedisStateOptions extends ConnectionOptions {
  /** Prefix of every key. */
  readonly key_prefix: string;
  /** Lifetime of a lease without renewal. */
  readonly lease_ms: number;
  readonly clock: Clock;
  /** For tests: the time since 1970 in place of the server's. */
  readonly now_ms?: () => number;
}

/**
 * Time for which reservations are kept: far longer than the renewal interval, and than an outage after which late settlements still matter.
 */
const reservation_ms = 3_600_000;
/** Holds renewed per call. */
const renewed_at_once = 200;

/**
 * Counters and concurrency in Redis or Valkey. A reservation is one call, a settlement is one, each a script that does all or nothing. All
 * keys of an account are in one slot of a cluster, all of them expire, and the time is that of the server.
 */
export class RedisState implements RemoteState {
  readonly #options: RedisStateOptions;
  readonly #redis: RedisServers;
  readonly #servers = new WeakMap<RedisServer, RemoteServer>();
  /** Names this process among the instances that share the server. */
  readonly #instance = randomUUID();

  constructor(options: RedisStateOptions) {
    this.#options = options;
    this.#redis = openRedis(options);
  }

  serverOf(account: string): RemoteServer {
    return this.#remote(this.#serverOf(account));
  }

  servers(): readonly RemoteServer[] {
    return this.#redis.all().map(server => this.#remote(server));
  }

  async reserve(request: ReservationRequest): Promise<RemoteReservationResult> {
    const { id, account, limits, charge, force } = request;
    const keys = this.#keysOf(account, id, limits);
    const args = [this.#now(), id, this.#options.lease_ms, reservation_ms, force ? 1 : 0];
    const amounts = amountsOf(limits, charge, 1);
    for (const [at, limit] of limits.entries()) args.push(rowOf(limit).window, limit.max, amounts[at]!);
    const reply = (await this.#serverOf(account).run(reserveScript, keys, args)) as number[];
    const [verdict, refusedAt, retry_ms] = reply as [number, number, number];
    if (verdict === -1) throw new CommandRejected('the reservation arrived after its settlement');
    const statuses = limits.map((limit, at) => statusOf(limit, reply[at * 3 + 3]!, reply[at * 3 + 4]!));
    if (verdict === 0) return { admitted: false, statuses, refused_by: limits[refusedAt - 1]!, retry_ms };
    return { admitted: true, statuses, over: limits.filter((_, at) => reply[at * 3 + 5] === 1) };
  }

  async settle(settlement: Settlement): Promise<void> {
    const { hold, used, settled_ms } = settlement;
    const { id, account, limits, charge } = hold.request;
    const now_ms = this.#options.clock.elapsed_ms();
    const server = this.#serverOf(account);
    const unsent = { certain: settlement.certain, sent_ms: settlement.sent_ms };
    if (server.ready) {
      // Decided at the first sending: before a second one the reservation may be gone because the first has counted.
      settlement.certain ??= hold.life === server.lives;
      settlement.sent_ms ??= now_ms;
      if (now_ms - settlement.sent_ms > reservation_ms / 2) throw new TooLate('first sent too long ago');
    }
    const age = (moment_ms: number) => Math.max(0, Math.round(now_ms - moment_ms));
    const args = [
      this.#now(),
      id,
      settlement.certain ? 1 : 0,
      reservation_ms,
      age(hold.reserved_ms),
      age(settled_ms),
    ];
    const [before, after] = [amountsOf(limits, charge, 1), amountsOf(limits, used, 0)];
    for (const [at, limit] of limits.entries()) args.push(rowOf(limit).window, before[at]!, after[at]!);
    try {
      await server.run(settleScript, this.#keysOf(account, id, limits), args);
    } catch (error) {
      // It was not done; the next server may not have the hold.
      if (error instanceof CannotServe) Object.assign(settlement, unsent);
      throw error;
    }
  }

  async renew(holds: readonly Hold[]): Promise<void> {
    const byAccount = Map.groupBy(holds, ({ request }) => request.account);
    const calls: Promise<unknown>[] = [];
    for (const [account, all] of byAccount)
      for (let from = 0; from < all.length; from += renewed_at_once)
        calls.push(this.#renewSome(account, all.slice(from, from + renewed_at_once)));
    await Promise.all(calls);
  }

  #renewSome(account: string, holds: readonly Hold[]): Promise<unknown> {
    const server = this.#serverOf(account);
    const keys: string[] = [];
    const args: (string | number)[] = [this.#now(), this.#options.lease_ms, reservation_ms];
    for (const { request, life } of holds) {
      const leased = request.limits.filter(isLease);
      keys.push(...this.#keysOf(account, request.id, leased));
      args.push(request.id, life === server.lives ? 1 : 0, leased.length);
    }
    return server.run(renewScript, keys, args);
  }

  async statuses(account: string, limits: readonly Limit[]): Promise<readonly LimitStatus[]> {
    if (limits.length === 0) return [];
    const args = [this.#now(), ...limits.map(limit => rowOf(limit).window)];
    const keys = limits.map(limit => this.#keyOf(account, counterKey(limit)));
    const reply = (await this.#serverOf(account).run(statusScript, keys, args)) as number[];
    return limits.map((limit, at) => statusOf(limit, reply[at * 2]!, reply[at * 2 + 1]!));
  }

  async close(): Promise<void> {
    const ready = this.#redis.all().filter(server => server.ready);
    await Promise.all(ready.map(server => this.#sign(server, 0).catch(() => {})));
    await this.#redis.close();
  }

  #serverOf(account: string): RedisServer {
    return this.#redis.of(this.#keyOf(account, ''));
  }

  #remote(server: RedisServer): RemoteServer {
    let remote = this.#servers.get(server);
    if (!remote) this.#servers.set(server, (remote = this.#newRemote(server)));
    return remote;
  }

  #newRemote(server: RedisServer): RemoteServer {
    return {
      get life() {
        return server.lives;
      },
      get isGone() {
        return server.isGone;
      },
      heartbeat: async lives_ms => {
        await server.started();
        return this.#sign(server, lives_ms);
      },
    };
  }

  async #sign(server: RedisServer, lives_ms: number): Promise<number> {
    const key = this.#redis.keyAt(server, this.#options.key_prefix, 'instances');
    const args = [this.#now(), this.#instance, lives_ms];
    return (await server.run(instancesScript, [key], args)) as number;
  }

  /** 0 stands for the server's clock. */
  #now(): number {
    return this.#options.now_ms?.() ?? 0;
  }

  /** The reservation, then the counters of `limits`. */
  #keysOf(account: string, id: string, limits: readonly Limit[]): string[] {
    return [`reservation:${id}`, ...limits.map(counterKey)].map(name => this.#keyOf(account, name));
  }

  /** What stands in braces decides the slot of a cluster, so that all keys of an account are together. */
  #keyOf(account: string, name: string): string {
    return `${this.#options.key_prefix}{${tagOf(account)}}:${name}`;
  }
}

/** Braces inside would end the hash tag, and an empty tag would be none. */
function tagOf(account: string): string {
  if (account === '') return '%';
  return /[{}%]/.test(account) ? encodeURIComponent(account.toWellFormed()) : account;
}

const isLease = (limit: Limit): boolean => rowOf(limit).window === 'running';

function statusOf(limit: Limit, used: number, reset_ms: number): LimitStatus {
  return { limit, remaining: Math.max(0, limit.max - used), reset_ms };
}
