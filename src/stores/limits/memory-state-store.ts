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

class AccountCounters {
  /** Reservations that are not settled. */
  reservations = 0;
  readonly #counters = new Map<string, Counter>();

  /** The counter of a limit, made at first use. */
  of(limit: Limit): Counter {
    const key = counterKey(limit);
    let counter = this.#counters.get(key);
    if (!counter) this.#counters.set(key, (counter = new Counter(limit)));
    return counter;
  }

  has(limit: Limit): boolean {
    return this.#counters.has(counterKey(limit));
  }

  /** Raises the sums of the present day and month to at least `past`. */
  raise(past: PastUse, now: Now): void {
    for (const counter of this.#counters.values()) {
      const { window } = limitTable[counter.limit.name];
      if ((window === 'day' || window === 'month') && past[window] === now[window])
        counter.add(past.of(counter.limit) - counter.used(now), now);
    }
  }

  /** Removes counters at zero; returns true if the account can be forgotten. */
  forget(now: Now): boolean {
    for (const [key, counter] of this.#counters) if (counter.used(now) === 0) this.#counters.delete(key);
    return this.#counters.size === 0 && this.reservations === 0;
  }
}

/**
 * The state of one process, lost on exit. Answers without a promise. An account takes memory while one of its counters is above zero: for a
 * minute, or the rest of the day or month where it has such limits; then it is forgotten, a few accounts at every reservation.
 */
export class MemoryStateStore implements StateStore {
  readonly #clock: Clock;
  readonly #accounts = new Map<string, AccountCounters>();
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
    const account = this.#counters(id);
    const over: Limit[] = [];
    let refused_by: Limit | undefined;
    let retry_ms = 0;
    for (const limit of limits) {
      const max = maxOf(limit);
      // A charge above a whole limit is admitted while the limit is unused.
      const amount = Math.min(amountOf(limit, charge, 1), max);
      const wait_ms = account.of(limit).wait_ms(amount, max, now);
      if (wait_ms > 0) over.push(limit);
      if (wait_ms > retry_ms) {
        refused_by = limit;
        retry_ms = wait_ms;
      }
    }
    if (refused_by && !force) {
      const statuses = statusesOf(account, limits, maxOf, now);
      return { admitted: false, statuses, refused_by, retry_ms: Math.max(1, Math.ceil(retry_ms)) };
    }
    const settle = this.#take(account, request, now);
    return {
      admitted: true,
      statuses: statusesOf(account, limits, maxOf, now),
      reservation: { over, settle },
    };
  }

  statuses(account: string, limits: readonly Limit[], maxOf = ownMax): readonly LimitStatus[] {
    return statusesOf(this.#accounts.get(account) ?? new AccountCounters(), limits, maxOf, this.#now());
  }

  knownStatuses(account: string, limits: readonly Limit[]): readonly LimitStatus[] {
    return this.statuses(account, limits);
  }

  /** Whether one of the limits on days and months has no counter yet. */
  lacks(account: string, limits: readonly Limit[]): boolean {
    const counters = this.#accounts.get(account);
    return limits.some(limit => isCalendar(limit) && !counters?.has(limit));
  }

  /** Raises the counters of the present day and month to at least `past`, with those of `limits`, which are made. */
  raise(account: string, past: PastUse, limits: readonly Limit[] = []): void {
    const counters = this.#counters(account);
    for (const limit of limits) counters.of(limit);
    counters.raise(past, this.#now());
  }

  async close(): Promise<void> {}

  /** Counts the charge; returns what settles it. */
  #take(account: AccountCounters, { limits, charge }: ReservationRequest, taken: Now): Reservation['settle'] {
    for (const limit of limits) account.of(limit).add(amountOf(limit, charge, 1), taken);
    account.reservations++;
    let isSettled = false;
    return used => {
      if (isSettled) return;
      isSettled = true;
      account.reservations--;
      const now = this.#now();
      for (const limit of limits) {
        const counter = account.of(limit);
        const more = amountOf(limit, used, 0) - amountOf(limit, charge, 1);
        if (more > 0) counter.add(more, now);
        else if (more < 0) counter.giveBack(-more, taken, now);
      }
    };
  }

  #counters(id: string): AccountCounters {
    let account = this.#accounts.get(id);
    if (!account) this.#accounts.set(id, (account = new AccountCounters()));
    return account;
  }

  #now(): Now {
    const epoch_ms = this.#clock.epoch_ms();
    const elapsed_ms = this.#clock.elapsed_ms();
    return { elapsed_ms, epoch_ms, ...this.#calendar.at(epoch_ms, elapsed_ms) };
  }

  #forgetIdle(now: Now): void {
    for (let checked = 0; checked < swept_per_reservation; checked++) {
      const { done, value } = this.#sweep.next();
      if (done) this.#sweep = this.#accounts.entries();
      else if (value[1].forget(now)) this.#accounts.delete(value[0]);
    }
  }
}

function statusesOf(
  account: AccountCounters,
  limits: readonly Limit[],
  maxOf: MaxOf,
  now: Now,
): LimitStatus[] {
  return limits.map(limit => {
    const counter = account.of(limit);
    return {
      limit,
      remaining: Math.max(0, Math.min(limit.max, maxOf(limit)) - counter.used(now)),
      reset_ms: Math.ceil(counter.reset_ms(now)),
    };
  });
}
