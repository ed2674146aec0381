import { type Clock, systemClock } from '../../common/clock.ts';
import { Calendar } from './calendar.ts';
import { CounterGroup, CounterGroups } from './counter-groups.ts';
import type { Counter, Now } from './counters.ts';
import { amountOf, isCalendar, type Limit, limitTable } from './limit-table.ts';
import type {
  LimitStatus,
  Reservation,
  ReservationRequest,
  ReservationResult,
  StateStore,
} from './state-store.ts';

/** How many accounts, and keys, each reservation checks, to forget those whose counters are at zero: more than it can add. */
const swept_per_reservation = 2;

/** How much of a limit is admitted. */
export type MaxOf = (limit: Limit) => number;
const ownMax: MaxOf = ({ max }) => max;

/** Whose use a counter counts: an account's, or that of one of its keys. */
export interface CounterOwner {
  readonly account: string;
  /** The id of the key. */
  readonly key?: string | undefined;
}

/** An account's or a key's use of a day and of a month, by the ledger. */
export interface PastUse {
  /** The day since 1970, and the month since the year 0, as in `CalendarDay`. */
  readonly day: number;
  readonly month: number;
  /** Use of the limit's unit in that day or month, of the limit's model or of all. */
  of(limit: Limit): number;
}

/**
 * The state of one process, lost on exit. Answers without a promise. An account takes memory while one of its counters is above zero: for a
 * minute, or the rest of the day or month where it has such limits; then it is forgotten, a few accounts at every reservation. So does a
 * key with limits, apart from its account: an account may have many.
 */
export class MemoryStateStore implements StateStore {
  readonly #clock: Clock;
  readonly #accounts = new CounterGroups();
  readonly #keys = new CounterGroups();
  readonly #calendar = new Calendar();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** How many accounts and keys are remembered. */
  get size(): number {
    return this.#accounts.size + this.#keys.size;
  }

  /** `maxOf` replaces the limits' own `max`. */
  reserve(request: ReservationRequest, maxOf = ownMax): ReservationResult {
    const { account, limits, charge, force } = request;
    const now = this.#now();
    this.#accounts.forgetIdle(swept_per_reservation, now);
    this.#keys.forgetIdle(swept_per_reservation, now);
    const counters = this.#countersOf(account, limits);
    const over: Limit[] = [];
    let refused_by: Limit | undefined;
    let retry_ms = 0;
    for (let at = 0; at < limits.length; at++) {
      const limit = limits[at]!;
      const max = maxOf(limit);
      const reserved = amountOf(limit, charge, 1);
      // A charge above a whole limit is admitted while the limit is unused, unless it is the most that a request may use.
      const amount = limit.hard && charge.ceiling ? reserved : Math.min(reserved, max);
      const wait_ms = counters[at]!.wait_ms(amount, max, now);
      if (wait_ms > 0) over.push(limit);
      if (wait_ms > retry_ms) {
        refused_by = limit;
        retry_ms = wait_ms;
      }
    }
    const statuses = () => limits.map((limit, at) => statusOf(counters[at]!, limit, maxOf, now));
    if (refused_by && !force) {
      const wait_ms = Math.max(1, Math.ceil(retry_ms));
      return { admitted: false, statuses: statuses(), refused_by, retry_ms: wait_ms };
    }
    for (let at = 0; at < limits.length; at++) counters[at]!.add(amountOf(limits[at]!, charge, 1), now);
    const reservation = { over, settle: this.#settlementOf(request, now) };
    return { admitted: true, statuses: statuses(), reservation };
  }

  /** The use of `limits` by `account`; reserves nothing. */
  statuses(account: string, limits: readonly Limit[], maxOf = ownMax): readonly LimitStatus[] {
    const now = this.#now();
    // Asking about an account or a key does not make it known.
    const group = this.#accounts.find(account) ?? new CounterGroup();
    return limits.map(limit => {
      const { key } = limit;
      const counters = key === undefined ? group : (this.#keys.find(key) ?? new CounterGroup());
      return statusOf(counters.of(limit), limit, maxOf, now);
    });
  }

  /** The same. */
  knownStatuses(account: string, limits: readonly Limit[]): readonly LimitStatus[] {
    return this.statuses(account, limits);
  }

  /** Those of the limits on days and months that have no counter yet. */
  lacking(account: string, limits: readonly Limit[]): readonly Limit[] {
    const group = this.#accounts.find(account);
    return limits.filter(limit => {
      if (!isCalendar(limit)) return false;
      return !(limit.key === undefined ? group : this.#keys.find(limit.key))?.has(limit);
    });
  }

  /**
   * Raises counters of the present day and month to at least `past`, which is the use of `owner`, an account or, with `key`, a key: those of
   * its `limits`, which are made, or all that there are.
   */
  raise({ account, key }: CounterOwner, past: PastUse, limits?: readonly Limit[]): void {
    const now = this.#now();
    const group = key === undefined ? this.#accounts.of(account) : this.#keys.of(key);
    const own = limits?.filter(limit => limit.key === key).map(limit => group.of(limit));
    for (const counter of own ?? group.all) {
      const { window } = limitTable[counter.limit.name];
      if ((window === 'day' || window === 'month') && past[window] === now[window])
        counter.add(past.of(counter.limit) - counter.used(now), now);
    }
  }

  /** Does nothing: there is no connection. */
  async close(): Promise<void> {}

  /** What settles a charge that was counted at `taken`. */
  #settlementOf({ account, limits, charge }: ReservationRequest, taken: Now): Reservation['settle'] {
    let isSettled = false;
    return used => {
      if (isSettled) return;
      isSettled = true;
      const now = this.#now();
      // Anew, since those at zero may have been forgotten meanwhile.
      const counters = this.#countersOf(account, limits);
      for (let at = 0; at < limits.length; at++) {
        const limit = limits[at]!;
        const more = amountOf(limit, used, 0) - amountOf(limit, charge, 1);
        if (more > 0) counters[at]!.add(more, now);
        else if (more < 0) counters[at]!.giveBack(-more, taken, now);
      }
    };
  }

  /** The counters of limits of an account, or of its keys, in their order. */
  #countersOf(account: string, limits: readonly Limit[]): Counter[] {
    const group = this.#accounts.of(account);
    return limits.map(limit => (limit.key === undefined ? group : this.#keys.of(limit.key)).of(limit));
  }

  #now(): Now {
    const epoch_ms = this.#clock.epoch_ms();
    const elapsed_ms = this.#clock.elapsed_ms();
    const { day, day_ends_ms, month, month_ends_ms } = this.#calendar.at(epoch_ms, elapsed_ms);
    return { elapsed_ms, epoch_ms, day, day_ends_ms, month, month_ends_ms };
  }
}

const statusOf = (counter: Counter, limit: Limit, maxOf: MaxOf, now: Now): LimitStatus => ({
  limit,
  remaining: Math.max(0, Math.min(limit.max, maxOf(limit)) - counter.used(now)),
  reset_ms: Math.ceil(counter.reset_ms(now)),
});
