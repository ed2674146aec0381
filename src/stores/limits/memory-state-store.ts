import { type Clock, systemClock } from '../../clock.ts';
import { Calendar } from './calendar.ts';
import { Counter, type Now } from './counters.ts';
import { amountOf, counterKey, isCalendar, type Limit, limitTable } from './limit-table.ts';
import type {
  LimitStatus,
  Reservation,
  ReservationRequest,
  ReservationResult,
  StateStore,
} from './state-store.ts';

/** How many accounts each reservation checks, to forget those whose counters are at zero: more than it can add. */
const swept_per_reservation = 2;

/** How much of a limit is admitted. */
export type MaxOf = (limit: Limit) => number;
const ownMax: MaxOf = ({ max }) => max;

/** An account's use of a day and of a month, by the ledger. */
export interface PastUse {
  /** The day since 1970, and the month since the year 0, as in `CalendarDay`. */
  readonly day: number;
  readonly month: number;
  /** Use of the limit's unit in that day or month, of the limit's model or of all. */
  of(limit: Limit): number;
}

/** What counts for one account, by `counterKey`. */
type Counters = Map<string, Counter>;

/** The counter of a limit, made at first use. */
function counterOf(counters: Counters, limit: Limit): Counter {
  const key = counterKey(limit);
  let counter = counters.get(key);
  if (!counter) counters.set(key, (counter = new Counter(limit)));
  return counter;
}

/**
 * The state of one process, lost on exit. Answers without a promise. An account takes memory while one of its counters is above zero: for a
 * minute, or the rest of the day or month where it has such limits; then it is forgotten, a few accounts at every reservation.
 */
export class MemoryStateStore implements StateStore {
  readonly #clock: Clock;
  readonly #accounts = new Map<string, Counters>();
  #sweep = this.#accounts.entries();
  readonly #calendar = new Calendar();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** How many accounts are remembered. */
  get size(): number {
    return this.#accounts.size;
  }

  /** `maxOf` replaces the limits' own `max`. */
  reserve(request: ReservationRequest, maxOf = ownMax): ReservationResult {
    const { account: id, limits, charge, force } = request;
    const now = this.#now();
    this.#forgetIdle(now);
    const counters = this.#counters(id);
    const over: Limit[] = [];
    let refused_by: Limit | undefined;
    let retry_ms = 0;
    for (const limit of limits) {
      const max = maxOf(limit);
      // A charge above a whole limit is admitted while the limit is unused.
      const amount = Math.min(amountOf(limit, charge, 1), max);
      const wait_ms = counterOf(counters, limit).wait_ms(amount, max, now);
      if (wait_ms > 0) over.push(limit);
      if (wait_ms > retry_ms) {
        refused_by = limit;
        retry_ms = wait_ms;
      }
    }
    if (refused_by && !force) {
      const statuses = statusesOf(counters, limits, maxOf, now);
      return { admitted: false, statuses, refused_by, retry_ms: Math.max(1, Math.ceil(retry_ms)) };
    }
    const settle = this.#take(request, now);
    return {
      admitted: true,
      statuses: statusesOf(counters, limits, maxOf, now),
      reservation: { over, settle },
    };
  }

  /** The use of `limits` by `account`; reserves nothing. */
  statuses(account: string, limits: readonly Limit[], maxOf = ownMax): readonly LimitStatus[] {
    return statusesOf(this.#accounts.get(account) ?? new Map(), limits, maxOf, this.#now());
  }

  /** The same. */
  knownStatuses(account: string, limits: readonly Limit[]): readonly LimitStatus[] {
    return this.statuses(account, limits);
  }

  /** Whether one of the limits on days and months has no counter yet. */
  lacks(account: string, limits: readonly Limit[]): boolean {
    const counters = this.#accounts.get(account);
    return limits.some(limit => isCalendar(limit) && !counters?.has(counterKey(limit)));
  }

  /** Raises counters of the present day and month to at least `past`: those of `limits`, which are made, or all that there are. */
  raise(account: string, past: PastUse, limits?: readonly Limit[]): void {
    const now = this.#now();
    const counters = this.#counters(account);
    for (const counter of limits?.map(limit => counterOf(counters, limit)) ?? counters.values()) {
      const { window } = limitTable[counter.limit.name];
      if ((window === 'day' || window === 'month') && past[window] === now[window])
        counter.add(past.of(counter.limit) - counter.used(now), now);
    }
  }

  /** Does nothing: there is no connection. */
  async close(): Promise<void> {}

  /** Counts the charge; returns what settles it. */
  #take({ account, limits, charge }: ReservationRequest, taken: Now): Reservation['settle'] {
    const counters = this.#counters(account);
    for (const limit of limits) counterOf(counters, limit).add(amountOf(limit, charge, 1), taken);
    let isSettled = false;
    return used => {
      if (isSettled) return;
      isSettled = true;
      const now = this.#now();
      // The account may have been forgotten meanwhile.
      const counters = this.#counters(account);
      for (const limit of limits) {
        const counter = counterOf(counters, limit);
        const more = amountOf(limit, used, 0) - amountOf(limit, charge, 1);
        if (more > 0) counter.add(more, now);
        else if (more < 0) counter.giveBack(-more, taken, now);
      }
    };
  }

  #counters(account: string): Counters {
    let counters = this.#accounts.get(account);
    if (!counters) this.#accounts.set(account, (counters = new Map()));
    return counters;
  }

  #now(): Now {
    const epoch_ms = this.#clock.epoch_ms();
    const elapsed_ms = this.#clock.elapsed_ms();
    const { day, day_ends_ms, month, month_ends_ms } = this.#calendar.at(epoch_ms, elapsed_ms);
    return { elapsed_ms, epoch_ms, day, day_ends_ms, month, month_ends_ms };
  }

  #forgetIdle(now: Now): void {
    for (let checked = 0; checked < swept_per_reservation; checked++) {
      const { done, value } = this.#sweep.next();
      if (done) {
        this.#sweep = this.#accounts.entries();
        return;
      }
      const [account, counters] = value;
      for (const [key, counter] of counters) if (counter.used(now) === 0) counters.delete(key);
      if (counters.size === 0) this.#accounts.delete(account);
    }
  }
}

function statusesOf(counters: Counters, limits: readonly Limit[], maxOf: MaxOf, now: Now): LimitStatus[] {
  return limits.map(limit => {
    const counter = counterOf(counters, limit);
    return {
      limit,
      remaining: Math.max(0, Math.min(limit.max, maxOf(limit)) - counter.used(now)),
      reset_ms: Math.ceil(counter.reset_ms(now)),
    };
  });
}
