import type { Clock } from '../../clock.ts';
import { refusal } from '../../errors.ts';
import { MemoryStateStore } from './memory.ts';
import { type OutagePolicies, type OutagePolicy, policyOf } from './outage-policy.ts';
import type { Limit, Standing, Taken, TakeRequest, Ticket } from './state-store.ts';

/** Where an account stood in a day or month when the shared store was last heard. */
interface Heard {
  /** What all instances together had used. */
  readonly used: number;
  /** What of that this instance had used. */
  readonly own: number;
  readonly period_ends_ms: number;
}

/** Accounts of which that is remembered: those that were last heard of. The others get their share of the whole limit. */
const max_remembered = 10_000;
/** More than anybody reaches. */
const unlimited = Number.MAX_SAFE_INTEGER;

/**
 * What one instance admits by itself while the shared store is out. It counts what it admits at all times, so that an outage does not begin
 * with a new minute; of a day or month it admits its part of what was left when the store was last heard.
 */
export class LocalShare {
  /** How many instances the limits are divided by. */
  instances = 1;
  readonly #own: MemoryStateStore;
  readonly #policies: OutagePolicies;
  readonly #clock: Clock;
  readonly #heard = new Map<string, Map<string, Heard>>();

  constructor(policies: OutagePolicies, clock: Clock) {
    this.#own = new MemoryStateStore(clock);
    this.#policies = policies;
    this.#clock = clock;
  }

  /** Counts what the shared store has admitted. */
  count(request: TakeRequest, standings: readonly Standing[]): Ticket {
    const taken = this.#own.take({ ...request, force: true });
    if (!taken.admitted) throw new Error('a forced take was refused');
    this.#remember(request.account, standings, taken.standings);
    return taken.ticket;
  }

  /** Hears how an account stands that the shared store has refused. */
  hear(account: string, standings: readonly Standing[]): void {
    const limits = standings.map(({ limit }) => limit);
    this.#remember(account, standings, this.#own.standings(account, limits));
  }

  /** The strictest policy of `limits`, which is what decides about a request. */
  policy(limits: readonly Limit[]): OutagePolicy {
    const policies = limits.map(limit => policyOf(this.#policies, limit));
    return (
      policies.find(policy => policy === 'closed') ?? policies.find(policy => policy === 'local') ?? 'open'
    );
  }

  /** Decides without the shared store. Throws the refusal with which a `closed` limit answers. */
  take(request: TakeRequest, cause: unknown): Taken {
    const { account, limits, force } = request;
    if (!force && this.policy(limits) === 'closed') throw refusal('server_error', { cause });
    const shares = limits.map(limit => this.#shareOf(account, limit));
    const nothing = shares.findIndex(({ max }) => max <= 0);
    if (nothing !== -1 && !force) return this.#exhausted(account, limits, nothing);
    const original = (share: Limit) => limits[shares.indexOf(share)]!;
    const taken = this.#own.take({ ...request, limits: shares });
    const standings = this.#shown(limits, taken.standings);
    if (!taken.admitted) return { ...taken, standings, refused_by: original(taken.refused_by) };
    const { ticket } = taken;
    const over = ticket.over.map(original);
    return { admitted: true, standings, ticket: { over, settle: used => ticket.settle(used) } };
  }

  /** Others have used up a day or month of which this instance has used nothing. */
  #exhausted(account: string, limits: readonly Limit[], at: number): Taken {
    const limit = limits[at]!;
    const { period_ends_ms } = this.#heard.get(account)!.get(nameOf(limit))!;
    return {
      admitted: false,
      standings: this.standings(account, limits),
      refused_by: limit,
      retry_ms: Math.max(1, Math.ceil(period_ends_ms - this.#clock.epoch_ms())),
    };
  }

  standings(account: string, limits: readonly Limit[]): readonly Standing[] {
    const shares = limits.map(limit => this.#shareOf(account, limit));
    return this.#shown(limits, this.#own.standings(account, shares));
  }

  /** The standings under the shares, as standings under the limits. */
  #shown(limits: readonly Limit[], standings: readonly Standing[]): Standing[] {
    return standings.map(({ limit: share, remaining, reset_ms }, at) => {
      const limit = limits[at]!;
      const left = share.max === unlimited ? limit.max - (unlimited - remaining) : remaining;
      return { limit, remaining: Math.max(0, left), reset_ms };
    });
  }

  #shareOf(account: string, limit: Limit): Limit {
    if (policyOf(this.#policies, limit) !== 'local') return { ...limit, max: unlimited };
    const heard = this.#heard.get(account)?.get(nameOf(limit));
    // Another max than before moves what is left as well.
    if (heard && heard.period_ends_ms > this.#clock.epoch_ms())
      return { ...limit, max: heard.own + Math.floor(Math.max(0, limit.max - heard.used) / this.instances) };
    return { ...limit, max: Math.max(1, Math.floor(limit.max / this.instances)) };
  }

  #remember(account: string, standings: readonly Standing[], own: readonly Standing[]): void {
    let heard = this.#heard.get(account);
    this.#heard.delete(account);
    for (const [at, { limit, remaining, reset_ms }] of standings.entries()) {
      if (!isCalendar(limit)) continue;
      heard ??= new Map();
      heard.set(nameOf(limit), {
        used: limit.max - remaining,
        own: limit.max - own[at]!.remaining,
        period_ends_ms: this.#clock.epoch_ms() + reset_ms,
      });
    }
    if (!heard) return;
    this.#heard.set(account, heard);
    if (this.#heard.size > max_remembered)
      for (const oldest of this.#heard.keys()) return void this.#heard.delete(oldest);
  }
}

const isCalendar = ({ name }: Limit): boolean => name === 'tokens_per_day' || name === 'usd_per_month';
const nameOf = ({ name, model = '' }: Limit): string => `${name} ${model}`;
