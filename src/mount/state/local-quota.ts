import type { Clock } from '../../common/clock.ts';
import type { OutagePolicies, OutagePolicy } from '../../config/state-options.ts';
import { refusal } from '../../gateway/exchange/errors.ts';
import { isCalendar, type Limit } from '../../gateway/limits/limit-table.ts';
import { MemoryStateStore } from '../../gateway/limits/memory-state-store.ts';
import type {
  LimitStatus,
  Reservation,
  ReservationRequest,
  ReservationResult,
} from '../../gateway/limits/state-store.ts';
import { KnownUse } from './known-use.ts';

/**
 * One instance's share of the limits while the shared store is down. It counts at all times, so that an outage does not begin with an empty
 * window; of a day or month it admits its share of what was left at the store's last answer.
 */
export class LocalQuota {
  /** The number of instances at the last heartbeat. */
  instances = 1;
  readonly #min_instances: number;
  readonly #policies: OutagePolicies;
  readonly #own: MemoryStateStore;
  readonly #known: KnownUse;

  /** Limits are divided by `min_instances` at least: an instance that started during the outage knows of no other. */
  constructor(policies: OutagePolicies, min_instances: number, clock: Clock) {
    this.#policies = policies;
    this.#min_instances = min_instances;
    this.#own = new MemoryStateStore(clock);
    this.#known = new KnownUse(clock);
  }

  /** The number by which limits are divided. */
  get divisor(): number {
    return Math.max(this.instances, this.#min_instances);
  }

  /** Counts a reservation that the shared store has admitted. */
  count(request: ReservationRequest, statuses: readonly LimitStatus[]): Reservation {
    const result = this.#own.reserve({ ...request, force: true });
    if (!result.admitted) throw new Error('a forced reservation was refused');
    this.#note(request.account, statuses, result.statuses);
    return result.reservation;
  }

  /** Notes what the shared store has answered about an account. */
  note(account: string, statuses: readonly LimitStatus[]): void {
    const limits = statuses.map(({ limit }) => limit);
    this.#note(account, statuses, this.#own.statuses(account, limits));
  }

  /** The shared store's last answer, less the time since, for those limits whose window has not ended. */
  knownStatuses(account: string, limits: readonly Limit[]): LimitStatus[] {
    return this.#known.statuses(account, limits);
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
    const used_up = limits.filter(limit => share(limit) <= 0);
    const [refused_by] = used_up;
    if (force || !refused_by) return withOver(this.#own.reserve(request, share), used_up);
    const retry_ms = Math.max(1, this.#known.until(this.#known.of(account, refused_by)!));
    return { admitted: false, statuses: this.statuses(account, limits), refused_by, retry_ms };
  }

  statuses(account: string, limits: readonly Limit[]): readonly LimitStatus[] {
    return this.#own.statuses(account, limits, this.#shareOf(account));
  }

  #note(account: string, statuses: readonly LimitStatus[], own: readonly LimitStatus[]): void {
    for (const [at, status] of statuses.entries()) this.#known.note(account, status, usedOf(own[at]!));
  }

  #policyOf({ name }: Limit): OutagePolicy {
    return this.#policies[name] ?? this.#policies.default;
  }

  #shareOf(account: string): (limit: Limit) => number {
    return limit => {
      if (this.#policyOf(limit) !== 'local') return Number.MAX_SAFE_INTEGER;
      const known = isCalendar(limit) ? this.#known.of(account, limit) : undefined;
      if (!known) return Math.max(1, Math.floor(limit.max / this.divisor));
      return known.own + Math.floor(Math.max(0, limit.max - known.used) / this.divisor);
    };
  }
}

/** Reports `limits` as exceeded, too, of which a request that is let through would have nothing left. */
function withOver(result: ReservationResult, limits: readonly Limit[]): ReservationResult {
  if (!result.admitted || limits.length === 0) return result;
  const over = new Set([...result.reservation.over, ...limits]);
  return { ...result, reservation: { ...result.reservation, over: [...over] } };
}

const usedOf = ({ limit, remaining }: LimitStatus): number => limit.max - remaining;
