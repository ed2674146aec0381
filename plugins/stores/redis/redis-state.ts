import { randomUUID } from 'node:crypto';
import {
  CannotServe,
  counterKey,
  isAskedForReturns,
  isCalendar,
  type LeaseAnswer,
  type LeaseMessage,
  type LeaseTimes,
  mostOf,
  neverResets,
  periodsOf,
  type RemoteServer,
  type RemoteState,
  rowOf,
} from '../../../src/plugin.ts';
import { openRedis } from './open-redis.ts';
import type { ConnectionOptions } from './redis-connection.ts';
import type { RedisServer, RedisServers } from './redis-servers.ts';
import { askedScript, exchangeScript, instancesScript } from './state-scripts.ts';

export interface RedisStateOptions extends ConnectionOptions {
  /** Prefix of every key. */
  readonly key_prefix: string;
  readonly times: LeaseTimes;
  /** For tests: the time since 1970 in place of the server's. */
  readonly now_ms?: () => number;
}

/** What the script returns in place of whether the message is counted. */
const lacks_past = -2;
/** The second has the period in which the server's time was a moment before, and the third the next one, if that ended meanwhile. */
const most_tries = 3;

/**
 * Counters and leases in Redis or Valkey: a message of a holder is one script. All keys of an account are in one slot of a cluster, all of
 * them expire, and the time is that of the server.
 */
export class RedisState implements RemoteState {
  readonly #options: RedisStateOptions;
  readonly #redis: RedisServers;
  readonly #servers = new WeakMap<RedisServer, RemoteServer>();
  /** By how much its clock is ahead of this process's, when that was seen last. */
  #ahead_ms = 0;
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

  async exchange(holder: string, message: LeaseMessage): Promise<LeaseAnswer> {
    const { account, rows } = message;
    const names = ['leases', ...rows.map(({ limit }) => counterKey(limit))].map(name =>
      this.#keyOf(account, name),
    );
    const server = this.#serverOf(account);
    for (let tries = 0; tries < most_tries; tries++) {
      const reply = (await server.run(exchangeScript, names, this.#argumentsOf(holder, message))) as Reply;
      const [, at_ms, is_counted] = reply;
      if (is_counted === lacks_past) return { ...answerOf(message, reply), lacks_past: true };
      if (is_counted >= 0) return answerOf(message, reply);
      this.#ahead_ms = at_ms - Date.now();
    }
    throw new CannotServe('the time of the server is in another period at each try');
  }

  #argumentsOf(holder: string, { session, seq, as_of, rows, wants }: LeaseMessage): (string | number)[] {
    const { lease_ms, patience_ms, remembered_ms } = this.#options.times;
    const { generation = '', at_ms = -1 } = as_of ?? {};
    const now_ms = this.#options.now_ms?.() ?? Date.now() + this.#ahead_ms;
    const args = [this.#now(), holder, session, seq, generation, at_ms, lease_ms, patience_ms, remembered_ms];
    args.push(isAskedForReturns(this.#options.times) ? 1 : 0, rows.length);
    for (const { limit, used, back, block, refunds, past = -1 } of rows) {
      if (isCalendar(limit)) {
        const { start_ms, end_ms } = periodsOf(limit).around(now_ms);
        args.push('calendar', start_ms, end_ms, neverResets(limit) ? past : 0);
      } else args.push(rowOf(limit).window);
      args.push(mostOf(limit), used, back, block, refunds.length, ...refunds.flat());
    }
    for (const { force, amounts } of wants) args.push(force ? 1 : 0, ...amounts.map(amount => amount ?? ''));
    return args;
  }

  async close(): Promise<void> {
    const ready = this.#redis.all().filter(server => server.ready);
    await Promise.all(ready.map(server => this.#sign(server, 0).catch(() => {})));
    await this.#redis.close();
  }

  #serverOf(account: string): RedisServer {
    return this.#redis.only ?? this.#redis.of(this.#keyOf(account, ''));
  }

  #remote(server: RedisServer): RemoteServer {
    let remote = this.#servers.get(server);
    if (!remote) this.#servers.set(server, (remote = this.#newRemote(server)));
    return remote;
  }

  #newRemote(server: RedisServer): RemoteServer {
    let since_ms = 0;
    const asked = async (account: string) => {
      const key = this.#redis.keyAt(server, this.#options.key_prefix, 'asked');
      const reply = await server.run(askedScript, [key], [this.#now(), account, since_ms]);
      return reply as [number, ...string[]];
    };
    return {
      get isGone() {
        return server.isGone;
      },
      heartbeat: async lives_ms => {
        await server.started();
        return this.#sign(server, lives_ms);
      },
      ask: async account => void (await asked(account)),
      asked: async () => {
        const [now_ms, ...accounts] = await asked('');
        since_ms = now_ms;
        return accounts;
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

/** What the script returns: numbers, behind the generation. */
type Reply = [generation: string, at_ms: number, is_counted: number, ...numbers: number[]];

function answerOf({ account, session, seq, rows, wants }: LeaseMessage, reply: Reply): LeaseAnswer {
  const [generation, at_ms, is_counted, ...numbers] = reply;
  const answer = { account, session, seq, as_of: { generation, at_ms } };
  if (is_counted !== 1) return answer;
  let at = 0;
  const next = () => numbers[at++]!;
  const is_expired = next() === 1;
  const ofRows = rows.map(() => ({
    granted: next(),
    used: next(),
    reset_ms: next(),
    free: next(),
    is_asked_back: next() === 1,
  }));
  const verdicts = wants.map(() => {
    const [refused_by, retry_ms, is_held] = [next(), next(), next() === 1];
    const over = Array.from({ length: next() }, next);
    return { over, ...(refused_by >= 0 && { refused_by }), retry_ms, is_held };
  });
  return { ...answer, counted: { is_expired, rows: ofRows, verdicts } };
}
