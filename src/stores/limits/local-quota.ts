import type { Clock } from '../../clock.ts';
import { refusal } from '../../errors.ts';
import { LastKnownStatuses } from './last-known-statuses.ts';
import { isCalendar, type Limit } from './limit-table.ts';
import { MemoryStateStore } from './memory-state-store.ts';
import { type OutagePolicies, type OutagePolicy, policyOf } from './outage-policy.ts';
import type { LimitStatus, Reservation, ReservationRequest, ReservationResult } from './state-store.ts';

/** Above every amount. */
const unlimited = Number.MAX_SAFE_INTEGER;

/**
 * One instance's share of the limits while the shared store is out. It counts at all times, so that an outage does not begin with an empty
 * window; of a day or month it admits its share of what was left at the store's last answer.
 */
export class LocalQuota {
  /** The number of instances at the last heartbeat. */
  instances = 1;
  readonly #min_instances: number;
  readonly #own: MemoryStateStore;
  readonly #policies: OutagePolicies;
  readonly #lastKnown: LastKnownStatuses;

  /** Limits are divided by `min_instances` at least: an instance that started during the outage knows of no other. */
  constructor(policies: OutagePolicies, min_instances: number, clock: Clock) {
    this.#min_instances = min_instances;
    this.#own = new MemoryStateStore(clock);
    this.#policies = policies;
    this.#lastKnown = new LastKnownStatuses(clock);
  }

  /** The number by which limits are divided. */
  get divisor(): number {
    return Math.max(this.instances, this.#min_instances);
  }

  /** Counts a reservation that the shared store has admitted. */
  count(request: ReservationRequest, statuses: readonly LimitStatus[]): Reservation {
    const result = this.#own.reserve({ ...request, force: true });
    if (!result.admitted) throw new Error('a forced reservation was refused');
    this.#lastKnown.note(request.account, statuses, result.statuses);
    return result.reservation;
  }

  /** Notes the status of an account that the shared store has refused. */
  note(account: string, statuses: readonly LimitStatus[]): void {
    const limits = statuses.map(({ limit }) => limit);
    this.#lastKnown.note(account, statuses, this.#own.statuses(account, limits));
  }

  /** The shared store's last answer, less the time since, for those limits whose window has not ended. */
  knownStatuses(account: string, limits: readonly Limit[]): LimitStatus[] {
    return limits.flatMap(limit => {
      const heard = this.#lastKnown.of(account, limit);
      return heard
        ? { limit, remaining: Math.max(0, limit.max - heard.used), reset_ms: Math.ceil(heard.reset_ms) }
        : [];
    });
  }

  /** The strictest policy of `limits`, which decides about a request. */
  policy(limits: readonly Limit[]): OutagePolicy {
    const policies = limits.map(limit => policyOf(this.#policies, limit));
    return (
      policies.find(policy => policy === 'closed') ?? policies.find(policy => policy === 'local') ?? 'open'
    );
  }

  /** Decides without the shared store. Throws `server_error` where a limit is `closed` (protocol b5). */
  reserve(request: ReservationRequest, cause: unknown): ReservationResult {
    const { account, limits, force } = request;
    if (!force && this.policy(limits) === 'closed') throw refusal('server_error', { cause });
    const shares = limits.map(limit => this.#shareOf(account, limit));
    const exhausted = shares.findIndex(({ max }) => max <= 0);
    if (exhausted !== -1 && !force) return this.#exhausted(account, limits, exhausted);
    const original = (share: Limit) => limits[shares.indexOf(share)]!;
    const result = this.#own.reserve({ ...request, limits: shares });
    const statuses = shown(limits, result.statuses);
    if (!result.admitted) return { ...result, statuses, refused_by: original(result.refused_by) };
    const { reservation } = result;
    const over = reservation.over.map(original);
    return { admitted: true, statuses, reservation: { over, settle: used => reservation.settle(used) } };
  }

  statuses(account: string, limits: readonly Limit[]): readonly LimitStatus[] {
    const shares = limits.map(limit => this.#shareOf(account, limit));
    return shown(limits, this.#own.statuses(account, shares));
  }

  /** Refuses where other instances have used up a day or month. */
  #exhausted(account: string, limits: readonly Limit[], at: number): ReservationResult {
    const limit = limits[at]!;
    const { reset_ms } = this.#lastKnown.of(account, limit)!;
    const statuses = this.statuses(account, limits);
    return { admitted: false, statuses, refused_by: limit, retry_ms: Math.max(1, Math.ceil(reset_ms)) };
  }

  #shareOf(account: string, limit: Limit): Limit {
    if (policyOf(this.#policies, limit) !== 'local') return { ...limit, max: unlimited };
    const heard = isCalendar(limit) ? this.#lastKnown.of(account, limit) : undefined;
    if (!heard) return { ...limit, max: Math.max(1, Math.floor(limit.max / this.divisor)) };
    const left = Math.max(0, limit.max - heard.used);
    return { ...limit, max: heard.own + Math.floor(left / this.divisor) };
  }
}

/** Statuses of shares as statuses of the limits themselves. */
function shown(limits: readonly Limit[], statuses: readonly LimitStatus[]): LimitStatus[] {
  return statuses.map(({ limit: share, remaining, reset_ms }, at) => {
    const limit = limits[at]!;
    const left = share.max === unlimited ? limit.max - (unlimited - remaining) : remaining;
    return { limit, remaining: Math.max(0, left), reset_ms };
  });
}
