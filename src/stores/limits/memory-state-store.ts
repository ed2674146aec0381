import { type Clock, systemClock } from '../../clock.ts';
import { Calendar } from './calendar.ts';
import { CalendarSum, type Counter, type Now, newCounter, type Place } from './counters.ts';
import { amountOf, counterKey, isCalendar, type Limit, rowOf } from './limit-table.ts';
import type { Charge } from './limit-units.ts';
import type {
  LimitStatus,
  Reservation,
  ReservationRequest,
  ReservationResult,
  StateStore,
} from './state-store.ts';

/** How many accounts each reservation checks, to forget those whose counters are at zero: more than it can add. */
const swept_per_reservation = 2;
/** Pause after all have been checked. */
const sweep_pause_ms = 1000;

const none: readonly Limit[] = [];

/** An account's use of a day and of a month, by the ledger. */
export interface PastUse {
  /** The day since 1970, and the month since the year 0, as in `CalendarDay`. */
  readonly day: number;
  readonly month: number;
  /** Use of the limit's unit in that day or month, of the limit's model or of all. */
  of(limit: Limit): number;
}

class AccountCounters {
  /** Reservations that are not settled; they keep references to the counters. */
  reservations = 0;
  readonly #counters = new Map<string, Counter>();

  /** The counter of a limit, made at first use. */
  of(limit: Limit): Counter {
    const key = counterKey(limit);
    let counter = this.#counters.get(key);
    if (!counter) this.#counters.set(key, (counter = newCounter(rowOf(limit).window)));
    return counter;
  }

  has(limit: Limit): boolean {
    return this.#counters.has(counterKey(limit));
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
  #sweep: Iterator<[string, AccountCounters]> | undefined;
  #swept_ms = Number.NEGATIVE_INFINITY;
  readonly #calendar = new Calendar();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** How many accounts are remembered. */
  get size(): number {
    return this.#accounts.size;
  }

  reserve(request: ReservationRequest): ReservationResult {
    const { account: id, limits, charge, force } = request;
    const now = this.#now();
    this.#forgetIdle(now);
    const account = this.#counters(id);
    let refused_by: Limit | undefined;
    let retry_ms = 0;
    let over = none;
    for (const limit of limits) {
      // A charge above a whole limit is admitted while the limit is unused.
      const amount = Math.min(amountOf(limit, charge, 1), limit.max);
      const wait_ms = account.of(limit).wait_ms(amount, limit.max, now);
      if (wait_ms === 0) continue;
      if (force) over = [...over, limit];
      else if (wait_ms > retry_ms) {
        refused_by = limit;
        retry_ms = wait_ms;
      }
    }
    if (refused_by) {
      const statuses = statusesOf(account, limits, now);
      return { admitted: false, statuses, refused_by, retry_ms: Math.max(1, Math.ceil(retry_ms)) };
    }
    const reservation = this.#reservation(account, request, over, now);
    return { admitted: true, statuses: statusesOf(account, limits, now), reservation };
  }

  statuses(account: string, limits: readonly Limit[]): readonly LimitStatus[] {
    return statusesOf(this.#accounts.get(account) ?? new AccountCounters(), limits, this.#now());
  }

  knownStatuses(account: string, limits: readonly Limit[]): readonly LimitStatus[] {
    return this.statuses(account, limits);
  }

  /** Whether one of the limits on days and months has no counter yet. */
  lacks(account: string, limits: readonly Limit[]): boolean {
    const counters = this.#accounts.get(account);
    return limits.some(limit => isCalendar(limit) && !counters?.has(limit));
  }

  /** Raises the counters of the present day and month to at least `past`. */
  raise(account: string, limits: readonly Limit[], past: PastUse): void {
    const now = this.#now();
    const counters = this.#counters(account);
    for (const limit of limits) {
      const counter = counters.of(limit);
      if (counter instanceof CalendarSum)
        counter.raise(past[counter.period] === now[counter.period] ? past.of(limit) : 0, now);
    }
  }

  async close(): Promise<void> {}

  #reservation(
    account: AccountCounters,
    { limits, charge }: ReservationRequest,
    over: readonly Limit[],
    now: Now,
  ): Reservation {
    const places: Place[] = limits.map(limit => account.of(limit).add(amountOf(limit, charge, 1), now));
    account.reservations++;
    let isSettled = false;
    const settle = (used: Charge): void => {
      if (isSettled) return;
      isSettled = true;
      account.reservations--;
      const settled = this.#now();
      for (const [at, limit] of limits.entries()) {
        const counter = account.of(limit);
        const more = amountOf(limit, used, 0) - amountOf(limit, charge, 1);
        if (more > 0) counter.add(more, settled);
        else if (more < 0) counter.giveBack(-more, places[at]!, settled);
      }
    };
    return { over, settle };
  }

  #counters(id: string): AccountCounters {
    let account = this.#accounts.get(id);
    if (!account) this.#accounts.set(id, (account = new AccountCounters()));
    return account;
  }

  #now(): Now {
    const epoch_ms = this.#clock.epoch_ms();
    const elapsed_ms = this.#clock.elapsed_ms();
    const { day, day_ends_ms, month, month_ends_ms } = this.#calendar.at(epoch_ms, elapsed_ms);
    return { elapsed_ms, epoch_ms, day, day_ends_ms, month, month_ends_ms };
  }

  #forgetIdle(now: Now): void {
    if (!this.#sweep && now.elapsed_ms - this.#swept_ms < sweep_pause_ms) return;
    this.#sweep ??= this.#accounts.entries();
    for (let checked = 0; checked < swept_per_reservation; checked++) {
      const { done, value } = this.#sweep.next();
      if (done) {
        this.#sweep = undefined;
        this.#swept_ms = now.elapsed_ms;
        return;
      }
      const [id, account] = value;
      if (account.forget(now)) this.#accounts.delete(id);
    }
  }
}

function statusesOf(account: AccountCounters, limits: readonly Limit[], now: Now): LimitStatus[] {
  return limits.map(limit => {
    const counter = account.of(limit);
    return {
      limit,
      remaining: Math.max(0, limit.max - counter.used(now)),
      reset_ms: Math.ceil(counter.reset_ms(now)),
    };
  });
}
