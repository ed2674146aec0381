import type { CalendarDay } from './calendar.ts';
import { type LimitWindowName, limitWindows } from './limit-table.ts';

/** Current time: one reading of the clock for all counters of a reservation. */
export interface Now extends CalendarDay {
  /** Never runs backwards; sliding windows follow it. */
  readonly elapsed_ms: number;
  /** Since 1970. */
  readonly epoch_ms: number;
}

/** Position of an added amount, so that part of it can be given back there. */
export type Place = Slot | number;

/** A counter of one limit. */
export interface Counter {
  used(now: Now): number;
  /** Milliseconds until `amount` more, itself at most `max`, is within `max`; 0 if it is now. */
  wait_ms(amount: number, max: number, now: Now): number;
  /** Milliseconds until nothing is counted. */
  reset_ms(now: Now): number;
  add(amount: number, now: Now): Place;
  /** Gives back part of an added amount; does nothing once it has left the window. */
  giveBack(amount: number, place: Place, now: Now): void;
}

/** A counter of the window's kind, at zero. */
export function newCounter(name: LimitWindowName): Counter {
  if (name === 'day' || name === 'month') return new CalendarSum(name);
  const window = limitWindows[name];
  return window.kind === 'sliding' ? new SlidingWindow(window.duration_ms) : new Running();
}

/** Slots per window. Additions within one slot are one amount, and leave the window with the last of them. */
export const slots_per_window = 60;

/** Amounts added within a slot's duration. */
export interface Slot {
  readonly first_ms: number;
  last_ms: number;
  /** 0 when it has left the window. */
  amount: number;
}

/** The slot of an addition of 0. */
const nowhere: Slot = { first_ms: 0, last_ms: 0, amount: 0 };

/** The amounts of the last `window_ms`, in at most 61 slots; each counts for one window and up to one slot more. */
export class SlidingWindow implements Counter {
  readonly #window_ms: number;
  readonly #slot_ms: number;
  readonly #slots: Slot[] = [];
  /** The slots before this one have left the window. */
  #oldest = 0;
  #used = 0;

  constructor(window_ms: number) {
    this.#window_ms = window_ms;
    this.#slot_ms = window_ms / slots_per_window;
  }

  used({ elapsed_ms }: Now): number {
    const slots = this.#slots;
    while (this.#oldest < slots.length && slots[this.#oldest]!.last_ms + this.#window_ms <= elapsed_ms) {
      const slot = slots[this.#oldest++]!;
      this.#used -= slot.amount;
      slot.amount = 0;
    }
    if (this.#oldest === slots.length) slots.length = this.#oldest = 0;
    else if (this.#oldest >= 64) {
      slots.splice(0, this.#oldest);
      this.#oldest = 0;
    }
    return this.#used;
  }

  wait_ms(amount: number, max: number, now: Now): number {
    let over = this.used(now) + amount - max;
    for (let at = this.#oldest; over > 0; at++) {
      const { amount: leaving, last_ms } = this.#slots[at]!;
      over -= leaving;
      if (over <= 0) return last_ms + this.#window_ms - now.elapsed_ms;
    }
    return 0;
  }

  reset_ms(now: Now): number {
    this.used(now);
    const newest = this.#slots.findLast(({ amount }) => amount > 0);
    return newest ? newest.last_ms + this.#window_ms - now.elapsed_ms : 0;
  }

  add(amount: number, now: Now): Slot {
    if (amount === 0) return nowhere;
    this.used(now);
    this.#used += amount;
    const last = this.#slots.at(-1);
    if (last && now.elapsed_ms - last.first_ms < this.#slot_ms) {
      last.last_ms = now.elapsed_ms;
      last.amount += amount;
      return last;
    }
    const slot = { first_ms: now.elapsed_ms, last_ms: now.elapsed_ms, amount };
    this.#slots.push(slot);
    return slot;
  }

  giveBack(amount: number, place: Place): void {
    const slot = place as Slot;
    const given = Math.min(amount, slot.amount);
    if (given === 0) return;
    slot.amount -= given;
    this.#used -= given;
  }
}

/** The sum of the present UTC day or month. */
export class CalendarSum implements Counter {
  readonly period: 'day' | 'month';
  /** Number of the day or month counted last. */
  #counted = -1;
  #sum = 0;

  constructor(period: 'day' | 'month') {
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
    return this.used(now) + amount <= max ? 0 : this.#ends_ms(now) - now.epoch_ms;
  }

  reset_ms(now: Now): number {
    return this.used(now) > 0 ? this.#ends_ms(now) - now.epoch_ms : 0;
  }

  add(amount: number, now: Now): number {
    this.#sum = this.used(now) + amount;
    return this.#counted;
  }

  /** Raises the sum to at least `amount`. */
  raise(amount: number, now: Now): void {
    this.#sum = Math.max(this.used(now), amount);
  }

  giveBack(amount: number, place: Place, now: Now): void {
    if (place === now[this.period]) this.#sum = Math.max(0, this.used(now) - amount);
  }

  #ends_ms(now: Now): number {
    return this.period === 'day' ? now.day_ends_ms : now.month_ends_ms;
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

  add(amount: number): number {
    this.#running += amount;
    return 0;
  }

  giveBack(amount: number): void {
    this.#running -= amount;
  }
}
