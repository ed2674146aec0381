import type { Clock } from '../../../common/clock.ts';
import {
  isCalendar,
  type Limit,
  limitTable,
  limitWindows,
  periodKey,
} from '../../../gateway/limits/limit-table.ts';
import { CountedPeriod } from './counted-period.ts';

/** When something was added to counters. */
export type Moment = Pick<Now, 'elapsed_ms'>;

/** Current time: one reading of the clock for all counters of a reservation. */
export interface Now {
  /** Never runs backwards; sliding windows follow it. */
  readonly elapsed_ms: number;
  /** Since 1970. */
  readonly epoch_ms: number;
  /** The period of a limit on one, the same object at all times. */
  periodOf(limit: Limit): CountedPeriod;
}

/** The time when it was read last. */
export class Present implements Now {
  elapsed_ms = 0;
  epoch_ms = 0;
  readonly #periods = new Map<string, CountedPeriod>();
  /** Until when, and from when on, none of them is another. */
  #from_ms = Number.NEGATIVE_INFINITY;
  #until_ms = Number.POSITIVE_INFINITY;
  /** The latest time of day that was read, and when: a clock that was set back had begun the periods of that time. */
  #latest_ms = Number.NEGATIVE_INFINITY;
  #latest_elapsed_ms = 0;

  read(clock: Clock): this {
    this.epoch_ms = clock.epoch_ms();
    this.elapsed_ms = clock.elapsed_ms();
    if (this.epoch_ms > this.#latest_ms) {
      this.#latest_ms = this.epoch_ms;
      this.#latest_elapsed_ms = this.elapsed_ms;
    }
    if (this.epoch_ms < this.#from_ms || this.epoch_ms >= this.#until_ms) this.#pass();
    return this;
  }

  periodOf(limit: Limit): CountedPeriod {
    const key = periodKey(limit);
    let period = this.#periods.get(key);
    if (!period) {
      this.#periods.set(key, (period = new CountedPeriod(limit)));
      period.pass(this.#latest_ms, this.#latest_elapsed_ms);
      this.#pass();
    }
    return period;
  }

  #pass(): void {
    this.#from_ms = Number.NEGATIVE_INFINITY;
    this.#until_ms = Number.POSITIVE_INFINITY;
    for (const period of this.#periods.values()) {
      period.pass(this.epoch_ms, this.elapsed_ms);
      this.#from_ms = Math.max(this.#from_ms, period.start_ms);
      this.#until_ms = Math.min(this.#until_ms, period.end_ms);
    }
  }
}

/** An account's or a key's use by the ledger. */
export interface PastUse {
  /** Use of the limit's unit, of the limit's model or of all, in the period that begins then; undefined if that is another than was asked for. */
  of(limit: Limit, start_ms: number): number | undefined;
}

/** The wait that is suggested where the end of what counts is unknown. */
const unknown_ms = 1000;

/** What counts under one limit of an account: until settlement, unless a subclass says otherwise. */
export class Counter {
  readonly limit: Limit;
  /** Of a limit on a period. */
  readonly period: CountedPeriod | undefined = undefined;
  /** What counted when `used` was asked last, with what was added and given back since. */
  amount = 0;

  constructor(limit: Limit) {
    this.limit = limit;
  }

  /** What counts now. The other methods rely on it: it is asked first. */
  used(_now: Now): number {
    return this.amount;
  }

  add(amount: number, _now: Now): void {
    this.amount += amount;
  }

  /** Raises what counts in the present period to at least `past`. */
  raise(_past: PastUse, _now: Now): void {}

  /** Gives back part of what was added at `added`, as far as it still counts. */
  giveBack(amount: number, _added: Moment): void {
    this.amount -= Math.min(amount, this.amount);
  }

  /** Milliseconds until `excess` of it counts no longer; a second if that is more than there is. */
  wait_ms(_excess: number, _now: Now): number {
    return unknown_ms;
  }

  /** Milliseconds until nothing is counted; 0 for concurrency. */
  reset_ms(_now: Now): number {
    return 0;
  }
}

/** Counts for a period of the calendar. */
class PeriodCounter extends Counter {
  override readonly period: CountedPeriod;
  #start_ms = Number.NEGATIVE_INFINITY;

  constructor(limit: Limit, period: CountedPeriod) {
    super(limit);
    this.period = period;
  }

  override used(_now: Now): number {
    if (this.#start_ms !== this.period.start_ms) {
      this.#start_ms = this.period.start_ms;
      this.amount = 0;
    }
    return this.amount;
  }

  override raise(past: PastUse, now: Now): void {
    const more = (past.of(this.limit, this.period.start_ms) ?? 0) - this.used(now);
    if (more > 0) this.add(more, now);
  }

  override giveBack(amount: number, added: Moment): void {
    if (added.elapsed_ms >= this.period.began_ms) this.amount -= Math.min(amount, this.amount);
  }

  override wait_ms(excess: number, now: Now): number {
    return excess > this.amount ? unknown_ms : this.reset_ms(now);
  }

  override reset_ms(now: Now): number {
    return this.amount === 0 ? 0 : this.period.end_ms - now.epoch_ms;
  }
}

/** Slots per sliding window: an amount counts for one window, and up to one slot more. */
export const slots_per_window = 60;

/** Amounts that leave a sliding window together: the first addition, and when the last one was, on the monotonic clock. */
interface Slot {
  readonly first_ms: number;
  last_ms: number;
  amount: number;
}

/** Counts for a duration. */
class SlidingCounter extends Counter {
  readonly #window_ms: number;
  /** The oldest first; at most 61. */
  readonly #slots: Slot[] = [];

  constructor(limit: Limit, window_ms: number) {
    super(limit);
    this.#window_ms = window_ms;
  }

  override used({ elapsed_ms }: Now): number {
    const left_ms = elapsed_ms - this.#window_ms;
    while (this.#slots.length > 0 && this.#slots[0]!.last_ms <= left_ms)
      this.amount -= this.#slots.shift()!.amount;
    return this.amount;
  }

  override add(amount: number, { elapsed_ms }: Now): void {
    this.amount += amount;
    const newest = this.#slots[this.#slots.length - 1];
    if (newest && elapsed_ms - newest.first_ms < this.#window_ms / slots_per_window) {
      newest.last_ms = elapsed_ms;
      newest.amount += amount;
    } else this.#slots.push({ first_ms: elapsed_ms, last_ms: elapsed_ms, amount });
  }

  override giveBack(amount: number, { elapsed_ms: added_ms }: Moment): void {
    let at = this.#slots.length - 1;
    while (at >= 0 && this.#slots[at]!.first_ms > added_ms) at--;
    const slot = this.#slots[at];
    if (!slot || added_ms - slot.first_ms >= this.#window_ms / slots_per_window) return;
    const given = Math.min(amount, slot.amount);
    slot.amount -= given;
    this.amount -= given;
  }

  override wait_ms(excess: number, now: Now): number {
    let over = excess;
    for (const slot of this.#slots) {
      over -= slot.amount;
      if (over <= 0) return slot.last_ms + this.#window_ms - now.elapsed_ms;
    }
    return unknown_ms;
  }

  override reset_ms(now: Now): number {
    let at = this.#slots.length - 1;
    while (at >= 0 && this.#slots[at]!.amount <= 0) at--;
    return at < 0 ? 0 : this.#slots[at]!.last_ms + this.#window_ms - now.elapsed_ms;
  }
}

/** The counter of a limit. */
export function counterOf(limit: Limit, now: Now): Counter {
  if (isCalendar(limit)) return new PeriodCounter(limit, now.periodOf(limit));
  const window = limitWindows[limitTable[limit.name].window];
  return window.kind === 'sliding' ? new SlidingCounter(limit, window.duration_ms) : new Counter(limit);
}
