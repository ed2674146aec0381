import QuickLRU from 'quick-lru';
import type { Clock } from '../../clock.ts';
import { refusal } from '../../errors.ts';
import { counterKey, isCalendar, type Limit } from './limit-table.ts';
import { MemoryStateStore } from './memory-state-store.ts';
import type { OutagePolicies, OutagePolicy } from './state-options.ts';
import type { LimitStatus, Reservation, ReservationRequest, ReservationResult } from './state-store.ts';

/** An account's use of one limit at the shared store's last answer. */
interface KnownStatus {
  /** Use of all instances together. */
  readonly used: number;
  /** This instance's part of it. */
  readonly own: number;
  /** When it counts no longer, on the monotonic clock. */
  readonly ends_ms: number;
}

/** Accounts, and keys, whose last known status is kept: the 10,000 used last, and up to as many before them. */
const known_owners = { maxSize: 10_000 };

/** Statuses by `counterKey`. */
type KnownStatuses = Map<string, KnownStatus>;

/**
 * One instance's share of the limits while the shared store is down. It counts at all times, so that an outage does not begin with an empty
 * window; of a day or month it admits its share of what was left at the store's last answer.
 */
export class LocalQuota {
  /** The number of instances at the last heartbeat. */
  instances = 1;
  readonly #min_instances: number;
  readonly #policies: OutagePolicies;
  readonly #clock: Clock;
  readonly #own: MemoryStateStore;
  /** Limit by limit, since an exchange may reserve under some of an account's limits. */
  readonly #known = new QuickLRU<string, KnownStatuses>(known_owners);
  /** Those of limits of keys, apart: an account may have many keys. */
  readonly #knownOfKeys = new QuickLRU<string, KnownStatuses>(known_owners);

  /** Limits are divided by `min_instances` at least: an instance that started during the outage knows of no other. */
  constructor(policies: OutagePolicies, min_instances: number, clock: Clock) {
    this.#policies = policies;
    this.#min_instances = min_instances;
    this.#clock = clock;
    this.#own = new MemoryStateStore(clock);
  }

  /** The number by which limits are divided. */
  get divisor(): number {
    return Math.max(this.instances, this.#min_instances);
  }

  /** Counts a reservation that the shared store has admitted. */
  count(request: ReservationRequest, statuses: readonly LimitStatus[]): Reservation {
    const result = this.#own.reserve({ ...request, force: true });
    if (!result.admitted) throw new Error('a forced reservation was refused');
    this.note(request.account, statuses);
    return result.reservation;
  }

  /** Notes what the shared store has answered about an account. */
  note(account: string, statuses: readonly LimitStatus[]): void {
    const limits = statuses.map(({ limit }) => limit);
    const own = this.#own.statuses(account, limits);
    for (const [at, status] of statuses.entries()) {
      const ends_ms = this.#clock.elapsed_ms() + status.reset_ms;
      const { limit } = status;
      const known = { used: usedOf(status), own: usedOf(own[at]!), ends_ms };
      if (limit.key === undefined) noteIn(this.#known, account, limit, known);
      else noteIn(this.#knownOfKeys, limit.key, limit, known);
    }
  }

  /** The shared store's last answer, less the time since, for those limits whose window has not ended. */
  knownStatuses(account: string, limits: readonly Limit[]): LimitStatus[] {
    return limits.flatMap(limit => {
      const known = this.#knownOf(account, limit);
      if (!known) return [];
      return [{ limit, remaining: Math.max(0, limit.max - known.used), reset_ms: this.#until(known) }];
    });
  }

  /** The strictest policy of `limits`, which decides about a request. */
  policy(limits: readonly Limit[]): OutagePolicy {
    const policies = limits.map(limit => this.#policyOf(limit));
    return (['closed', 'local'] as const).find(policy => policies.includes(policy)) ?? 'open';
  }

  /** Decides without the shared store. Throws `server_error` where a limit is `closed`. */
  reserve(request: ReservationRequest, cause: unknown): ReservationResult {
    const { account, limits, force } = request;
    if (!force && this.policy(limits) === 'closed') throw refusal('server_error', { cause });
    const share = this.#shareOf(account);
    // Other instances have used up a day or month, of which the rest was 0 at the last answer.
    const refused_by = force ? undefined : limits.find(limit => share(limit) <= 0);
    if (!refused_by) return this.#own.reserve(request, share);
    const retry_ms = Math.max(1, this.#until(this.#knownOf(account, refused_by)!));
    return { admitted: false, statuses: this.statuses(account, limits), refused_by, retry_ms };
  }

  statuses(account: string, limits: readonly Limit[]): readonly LimitStatus[] {
    return this.#own.statuses(account, limits, this.#shareOf(account));
  }

  #policyOf({ name }: Limit): OutagePolicy {
    return this.#policies[name] ?? this.#policies.default;
  }

  #shareOf(account: string): (limit: Limit) => number {
    return limit => {
      if (this.#policyOf(limit) !== 'local') return Number.MAX_SAFE_INTEGER;
      const known = isCalendar(limit) ? this.#knownOf(account, limit) : undefined;
      if (!known) return Math.max(1, Math.floor(limit.max / this.divisor));
      return known.own + Math.floor(Math.max(0, limit.max - known.used) / this.divisor);
    };
  }

  /** `undefined` without an answer, or when its window has ended. */
  #knownOf(account: string, limit: Limit): KnownStatus | undefined {
    const { key } = limit;
    const statuses = key === undefined ? this.#known.get(account) : this.#knownOfKeys.get(key);
    const known = statuses?.get(counterKey(limit));
    return known && this.#until(known) > 0 ? known : undefined;
  }

  #until({ ends_ms }: KnownStatus): number {
    return Math.ceil(ends_ms - this.#clock.elapsed_ms());
  }
}

const usedOf = ({ limit, remaining }: LimitStatus): number => limit.max - remaining;

function noteIn(
  all: QuickLRU<string, KnownStatuses>,
  owner: string,
  limit: Limit,
  status: KnownStatus,
): void {
  const known = all.get(owner);
  if (known) known.set(counterKey(limit), status);
  else all.set(owner, new Map([[counterKey(limit), status]]));
}
