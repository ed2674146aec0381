import type { CalendarDay } from './calendar.ts';
import { type Limit, limitTable, limitWindows } from './limit-table.ts';

/** Current time: one reading of the clock for all counters of a reservation. */
export interface Now extends CalendarDay {
  /** Never runs backwards; sliding windows follow it. */
  readonly elapsed_ms: number;
  /** Since 1970. */
  readonly epoch_ms: number;
}

/** A counter of one limit. */
export interface Counter {
  used(now: Now): number;
  /** Milliseconds until `amount` more, itself at most `max`, is within `max`; 0 if it is now. */
  wait_ms(amount: number, max: number, now: Now): number;
  /** Milliseconds until nothing is counted. */
  reset_ms(now: Now): number;
  add(amount: number, now: Now): void;
  /** Gives back part of what was added at `added`; does nothing once that has left the window. */
  giveBack(amount: number, added: Now, now: Now): void;
}

/** The limit's counter, at zero. */
export function newCounter(limit: Limit): Counter {
  const { window } = limitTable[limit.name];
  if (window === 'day' || window === 'month') return new CalendarSum(limit, window);
  return window === 'running' ? new Running() : new SlidingWindow(limitWindows[window].duration_ms);
}

/** Slots per window. Additions within one slot are one amount, and leave the window with the last of them. */
export const slots_per_window = 60;

/** Amounts added within a slot's duration. */
interface Slot {
  readonly first_ms: number;
  last_ms: number;
  amount: number;
}

/** The amounts of the last `window_ms`, in at most 61 slots; each counts for one window and up to one slot more. */
class SlidingWindow implements Counter {
  readonly #window_ms: number;
  readonly #slots: Slot[] = [];
  #used = 0;

  constructor(window_ms: number) {
    this.#window_ms = window_ms;
  }

  used(now: Now): number {
    while (this.#slots.length > 0 && this.#leaves_ms(this.#slots[0]!, now) <= 0)
      this.#used -= this.#slots.shift()!.amount;
    return this.#used;
  }

  wait_ms(amount: number, max: number, now: Now): number {
    let over = this.used(now) + amount - max;
    for (const slot of this.#slots) {
      if (over <= 0) break;
      over -= slot.amount;
      if (over <= 0) return this.#leaves_ms(slot, now);
    }
    return 0;
  }

  reset_ms(now: Now): number {
    this.used(now);
    const newest = this.#slots.findLast(({ amount }) => amount > 0);
    return newest ? this.#leaves_ms(newest, now) : 0;
  }

  add(amount: number, now: Now): void {
    if (amount === 0) return;
    this.used(now);
    this.#used += amount;
    const { elapsed_ms } = now;
    const last = this.#slots.at(-1);
    if (last && elapsed_ms - last.first_ms < this.#window_ms / slots_per_window) {
      last.last_ms = elapsed_ms;
      last.amount += amount;
    } else this.#slots.push({ first_ms: elapsed_ms, last_ms: elapsed_ms, amount });
  }

  giveBack(amount: number, added: Now): void {
    const slot = this.#slots.findLast(({ first_ms }) => first_ms <= added.elapsed_ms);
    if (!slot) return;
    const given = Math.min(amount, slot.amount);
    slot.amount -= given;
    this.#used -= given;
  }

  #leaves_ms({ last_ms }: Slot, { elapsed_ms }: Now): number {
    return last_ms + this.#window_ms - elapsed_ms;
  }
}

/** The sum of the present UTC day or month. */
export class CalendarSum implements Counter {
  readonly limit: Limit;
  readonly period: 'day' | 'month';
  /** Number of the day or month counted last. */
  #counted = -1;
  #sum = 0;

  constructor(limit: Limit, period: 'day' | 'month') {
    this.limit = limit;
    this.period = period;
  }

  used(now: Now): number {
    const current = now[this.period];
    if (current !== this.#counted) {
      this.#counted = current;
      this.#sum = 0;
    }
    return this.#sum;
  }

  wait_ms(amount: number, max: number, now: Now): number {
    return this.used(now) + amount <= max ? 0 : this.#left_ms(now);
  }

  reset_ms(now: Now): number {
    return this.used(now) > 0 ? this.#left_ms(now) : 0;
  }

  add(amount: number, now: Now): void {
    this.#sum = this.used(now) + amount;
  }

  /** Raises the sum to at least `amount`. */
  raise(amount: number, now: Now): void {
    this.#sum = Math.max(this.used(now), amount);
  }

  giveBack(amount: number, added: Now, now: Now): void {
    if (added[this.period] === now[this.period]) this.#sum = Math.max(0, this.used(now) - amount);
  }

  #left_ms(now: Now): number {
    return now[`${this.period}_ends_ms`] - now.epoch_ms;
  }
}

/** Suggested wait for concurrency: the end of a running exchange is unknown. */
const unknown_wait_ms = 1000;

/** The exchanges in flight. */
class Running implements Counter {
  #running = 0;

  used(): number {
    return this.#running;
  }

  wait_ms(amount: number, max: number): number {
    return this.#running + amount <= max ? 0 : unknown_wait_ms;
  }

  reset_ms(): number {
    return 0;
  }

  add(amount: number): void {
    this.#running += amount;
  }

  giveBack(amount: number): void {
    this.#running -= amount;
  }
}
