import { type Clock, systemClock } from '../../../common/clock.ts';
import { amountsOf, isCalendar, type Limit } from '../../../gateway/limits/limit-table.ts';
import type { Charge } from '../../../gateway/limits/limit-units.ts';
import type {
  LimitStatus,
  Reservation,
  ReservationRequest,
  ReservationResult,
  StateStore,
} from '../../../gateway/limits/state-store.ts';
import { CounterGroups, type CounterOwner, isOwn } from './counter-groups.ts';
import { type Counter, counterOf, type Moment, type Now, type PastUse, Present } from './counters.ts';

/** How much of a limit is admitted. */
export type MaxOf = (limit: Limit) => number;

const none: readonly Limit[] = [];

/**
 * The state of one process, lost on exit. Answers without a promise. An account takes memory while one of its counters is above zero: for a
 * minute, or the rest of the day or another period where it has such limits; then it is forgotten, a few accounts at every reservation. So does a
 * key with limits, apart from its account: an account may have many.
 */
export class MemoryStateStore implements StateStore {
  readonly #clock: Clock;
  readonly #now = new Present();
  readonly #groups = new CounterGroups();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** How many accounts and keys are remembered. */
  get size(): number {
    return this.#groups.size;
  }

  /** Lists of limits that are the same array in later requests of an account are found faster. `maxOf` replaces the limits' own `max`. */
  reserve(request: ReservationRequest, maxOf?: MaxOf): ReservationResult {
    const { account, limits, charge, force } = request;
    const now = this.#now.read(this.#clock);
    this.#groups.forgetIdle(now);
    const counters = this.#groups.bound(account, limits) ?? this.#groups.bind(account, limits, now);
    const amounts = amountsOf(limits, charge, 1);
    let over = none;
    let refused_by: Limit | undefined;
    let retry_ms = 0;
    for (let at = 0; at < limits.length; at++) {
      const limit = limits[at]!;
      const max = maxOf ? maxOf(limit) : limit.max;
      const amount = amounts[at]!;
      // A charge above a whole limit is admitted while the limit is unused, unless it is the most that a request may use.
      const needed = limit.hard && charge.ceiling ? amount : Math.min(amount, max);
      const excess = counters[at]!.used(now) + needed - max;
      if (excess <= 0 || limit.soft) continue;
      over = [...over, limit];
      const wait_ms = counters[at]!.wait_ms(excess, now);
      if (wait_ms <= retry_ms) continue;
      refused_by = limit;
      retry_ms = wait_ms;
    }
    if (refused_by && !force) {
      const statuses = statusesOf(limits, counters, now, maxOf);
      return { admitted: false, statuses, refused_by, retry_ms: Math.max(1, Math.ceil(retry_ms)) };
    }
    for (let at = 0; at < limits.length; at++) if (amounts[at]! > 0) counters[at]!.add(amounts[at]!, now);
    const statuses = statusesOf(limits, counters, now, maxOf);
    return {
      admitted: true,
      statuses,
      reservation: new MemoryReservation(this, request, amounts, over, now),
    };
  }

  /** The use of `limits` by `account`; reserves nothing, and does not make the account or its key known. */
  statuses(account: string, limits: readonly Limit[], maxOf?: MaxOf): readonly LimitStatus[] {
    const now = this.#now.read(this.#clock);
    const counters = limits.map(limit => this.#groups.find(account, limit) ?? counterOf(limit, now));
    for (const counter of counters) counter.used(now);
    return statusesOf(limits, counters, now, maxOf);
  }

  /** The same. */
  knownStatuses(account: string, limits: readonly Limit[]): readonly LimitStatus[] {
    return this.statuses(account, limits);
  }

  /** Those of the limits on the calendar that have no counter yet. */
  lacking(account: string, limits: readonly Limit[]): readonly Limit[] {
    if (this.#groups.bound(account, limits)) return none;
    return limits.filter(limit => isCalendar(limit) && !this.#groups.find(account, limit));
  }

  /** The limits under which `owner` is counted. */
  counted(owner: CounterOwner): readonly Limit[] {
    return [...this.#groups.of(owner).counters.values()].map(({ limit }) => limit);
  }

  /**
   * Raises counters of the present periods to at least `past`, which is the use of `owner`: those of
   * its `limits`, which are made, or all that there are.
   */
  raise(owner: CounterOwner, past: PastUse, limits?: readonly Limit[]): void {
    const now = this.#now.read(this.#clock);
    const group = this.#groups.of(owner);
    const own = limits?.filter(limit => isOwn(limit, owner)).map(limit => group.of(limit, now));
    for (const counter of own ?? group.counters.values()) counter.raise(past, now);
  }

  /** Does nothing: there is no connection. */
  async close(): Promise<void> {}

  /** Replaces the amounts that were added at a moment by what was used. For the reservation alone, once. */
  settle(
    { account, limits }: ReservationRequest,
    amounts: readonly number[],
    added: Moment,
    used: Charge,
  ): void {
    const now = this.#now.read(this.#clock);
    // Those at zero may have been forgotten meanwhile.
    const counters = this.#groups.bound(account, limits) ?? this.#groups.bind(account, limits, now);
    const all = amountsOf(limits, used, 0);
    for (let at = 0; at < all.length; at++) {
      const more = all[at]! - amounts[at]!;
      if (more === 0) continue;
      counters[at]!.used(now);
      if (more > 0) counters[at]!.add(more, now);
      else counters[at]!.giveBack(-more, added);
    }
  }
}

/** What one request has reserved, and when. */
class MemoryReservation implements Reservation, Moment {
  readonly over: readonly Limit[];
  readonly elapsed_ms: number;
  readonly #store: MemoryStateStore;
  readonly #amounts: readonly number[];
  #request: ReservationRequest | undefined;

  constructor(
    store: MemoryStateStore,
    request: ReservationRequest,
    amounts: readonly number[],
    over: readonly Limit[],
    { elapsed_ms }: Now,
  ) {
    this.#store = store;
    this.#request = request;
    this.#amounts = amounts;
    this.over = over;
    this.elapsed_ms = elapsed_ms;
  }

  settle(used: Charge): void {
    const request = this.#request;
    this.#request = undefined;
    if (request) this.#store.settle(request, this.#amounts, this, used);
  }
}

/** The use of limits, of which `used` has been asked. */
function statusesOf(
  limits: readonly Limit[],
  counters: readonly Counter[],
  now: Now,
  maxOf: MaxOf | undefined,
): LimitStatus[] {
  const statuses = new Array<LimitStatus>(limits.length);
  for (let at = 0; at < limits.length; at++) {
    const limit = limits[at]!;
    const counter = counters[at]!;
    const max = maxOf ? Math.min(limit.max, maxOf(limit)) : limit.max;
    const { amount } = counter;
    const remaining = Math.max(0, max - amount);
    const over = amount > limit.max ? amount - limit.max : undefined;
    statuses[at] = { limit, remaining, over, reset_ms: Math.ceil(counter.reset_ms(now)) };
  }
  return statuses;
}
