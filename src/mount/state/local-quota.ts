import type { Clock } from '../../common/clock.ts';
import type { OutagePolicies, OutagePolicy } from '../../config/state-options.ts';
import { refusal } from '../../gateway/exchange/errors.ts';
import { amountsOf, counterKey, type Limit } from '../../gateway/limits/limit-table.ts';
import type { Charge } from '../../gateway/limits/limit-units.ts';
import type {
  LimitStatuses,
  Reservation,
  ReservationRequest,
  ReservationResult,
} from '../../gateway/limits/state-store.ts';
import { MemoryStateStore } from './counters/memory-state-store.ts';
import type { HeldReservation } from './leases/held-account.ts';
import type { Part } from './leases/held-row.ts';
import type { LeaseHolder } from './leases/lease-holder.ts';

const nothing: Charge = { requests: 0, tokens: 0, nano_usd: 0 };
const whole = Number.MAX_SAFE_INTEGER;

/** What was admitted of one account while the store was down. */
class AccountAlone {
  readonly store: MemoryStateStore;
  readonly #limits = new Map<string, Limit>();
  readonly #open = new Set<ReservationAlone>();

  constructor(clock: Clock) {
    this.store = new MemoryStateStore(clock);
  }

  add(request: ReservationRequest, own: Reservation, over: readonly Limit[]): ReservationAlone {
    for (const limit of request.limits) this.#limits.set(counterKey(limit), { ...limit, max: whole });
    const reservation = new ReservationAlone(request, own, over, () => this.#open.delete(reservation));
    this.#open.add(reservation);
    return reservation;
  }

  /** Lets `holder` count all of it, and settle what is not settled. */
  handOver(account: string, holder: LeaseHolder, now_ms: number): void {
    for (const reservation of this.#open) reservation.handOver(holder, now_ms);
    const statuses = this.store.statuses(account, [...this.#limits.values()]);
    const used = statuses.map(({ remaining }) => whole - remaining);
    const limits = statuses.map(({ limit }) => limit);
    holder.count(account, limits, used, now_ms).settle(used);
  }
}

/** A reservation of which the store does not know, until it is handed over. */
class ReservationAlone implements Reservation {
  readonly over: readonly Limit[];
  readonly #request: ReservationRequest;
  readonly #own: Reservation;
  readonly #onSettled: () => void;
  #held: HeldReservation | undefined;
  #isSettled = false;

  constructor(request: ReservationRequest, own: Reservation, over: readonly Limit[], onSettled: () => void) {
    this.over = over;
    this.#request = request;
    this.#own = own;
    this.#onSettled = onSettled;
  }

  handOver(holder: LeaseHolder, now_ms: number): void {
    const { account, limits, charge } = this.#request;
    this.#own.settle(nothing);
    this.#held = holder.count(account, limits, amountsOf(limits, charge, 1), now_ms);
  }

  settle(used: Charge): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#held?.settle(amountsOf(this.#request.limits, used, 0));
    this.#own.settle(used);
    this.#onSettled();
  }
}

/**
 * One process's share of the limits while the shared store is down: of what was left at the store's last answer, and of the whole once that
 * answer's window is over.
 */
export class LocalQuota {
  /** The number of instances at the last heartbeat. */
  instances = 1;
  /** How many reservations the store does not know of. */
  waiting = 0;
  readonly #min_instances: number;
  readonly #policies: OutagePolicies;
  readonly #clock: Clock;
  readonly #accounts = new Map<string, AccountAlone>();
  readonly #holder: LeaseHolder;

  /** Limits are divided by `min_instances` at least: an instance that started during the outage knows of no other. */
  constructor(policies: OutagePolicies, min_instances: number, clock: Clock, holder: LeaseHolder) {
    this.#policies = policies;
    this.#min_instances = min_instances;
    this.#clock = clock;
    this.#holder = holder;
  }

  /** The number by which limits are divided. */
  get divisor(): number {
    return Math.max(this.instances, this.#min_instances);
  }

  /** What decides about a request. */
  policy(limits: readonly Limit[]): OutagePolicy {
    const policies = limits.map(limit => this.#policyOf(limit));
    return (['closed', 'local'] as const).find(policy => policies.includes(policy)) ?? 'open';
  }

  /** Decides without the shared store. Throws `server_error` where a limit is `closed`. */
  reserve(request: ReservationRequest, cause: unknown): ReservationResult {
    const { account, limits, force } = request;
    if (!force && this.policy(limits) === 'closed') throw refusal('server_error', { cause });
    const parts = this.#partsOf(account, limits);
    // Of which there was nothing left at the last answer, or of concurrency is nothing now.
    const used_up = limits.filter(limit => parts.get(limit)!.max <= 0);
    const [refused_by] = used_up;
    if (refused_by && !force) {
      const retry_ms = Math.max(1, parts.get(refused_by)!.reset_ms);
      return { admitted: false, statuses: this.statuses(account, limits), refused_by, retry_ms };
    }
    const alone = this.#accounts.get(account) ?? new AccountAlone(this.#clock);
    const result = alone.store.reserve(request, limit => parts.get(limit)!.max);
    if (!result.admitted) return result;
    this.waiting++;
    this.#accounts.set(account, alone);
    const { reservation: own } = result;
    const over = [...new Set([...own.over, ...used_up])];
    return { ...result, reservation: alone.add(request, own, over) };
  }

  statuses(account: string, limits: readonly Limit[]): LimitStatuses {
    const parts = this.#partsOf(account, limits);
    const { store } = this.#accounts.get(account) ?? new AccountAlone(this.#clock);
    return store.statuses(account, limits, limit => Math.max(0, parts.get(limit)!.max));
  }

  /** The accounts of which reservations wait to be handed over. */
  accounts(): readonly string[] {
    return [...this.#accounts.keys()];
  }

  /** Lets the holder count what was admitted of an account: what counts still, and as of now. */
  handOver(account: string): void {
    const alone = this.#accounts.get(account);
    if (!alone) return;
    this.#accounts.delete(account);
    if (this.#accounts.size === 0) this.waiting = 0;
    alone.handOver(account, this.#holder, this.#clock.elapsed_ms());
  }

  #policyOf({ name, soft }: Limit): OutagePolicy {
    return soft ? 'open' : (this.#policies[name] ?? this.#policies.default);
  }

  #partsOf(account: string, limits: readonly Limit[]): ReadonlyMap<Limit, Part> {
    return new Map(limits.map(limit => [limit, this.#part(account, limit)]));
  }

  #part(account: string, limit: Limit): Part {
    if (this.#policyOf(limit) !== 'local') return { max: whole, reset_ms: 0 };
    const known = this.#holder.partOf(account, limit, this.divisor, this.#clock.elapsed_ms());
    return known ?? { max: Math.max(1, Math.floor(limit.max / this.divisor)), reset_ms: 0 };
  }
}
