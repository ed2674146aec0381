import type { CalendarDay } from './calendar.ts';
import { type Limit, type LimitWindowName, limitTable, limitWindows } from './limit-table.ts';

/** Current time: one reading of the clock for all counters of a reservation. */
export interface Now extends CalendarDay {
  /** Never runs backwards; sliding windows follow it. */
  readonly elapsed_ms: number;
  /** Since 1970. */
  readonly epoch_ms: number;
}

/** Amounts that leave the window together. */
interface Slot {
  /** The first addition, and when the last one was, on the monotonic clock. */
  readonly first: Now;
  last_ms: number;
  amount: number;
}

/** How long amounts count. */
interface Window {
  /** Whether what is added at `moment` is in `slot`. */
  has(slot: Slot, moment: Now): boolean;
  /** Milliseconds until the amount in `slot` leaves the window; not above 0 if it has left. */
  leaves_ms(slot: Slot, now: Now): number;
}

/** Slots per sliding window: an amount counts for one window, and up to one slot more. */
export const slots_per_window = 60;

const sliding = (window_ms: number): Window => ({
  has({ first }, moment) {
    const after_ms = moment.elapsed_ms - first.elapsed_ms;
    return after_ms >= 0 && after_ms < window_ms / slots_per_window;
  },
  leaves_ms: ({ last_ms }, now) => last_ms + window_ms - now.elapsed_ms,
});

const day: Window = {
  has: ({ first }, moment) => first.day === moment.day,
  leaves_ms: ({ first }, now) => (first.day === now.day ? now.day_ends_ms - now.epoch_ms : 0),
};

const month: Window = {
  has: ({ first }, moment) => first.month === moment.month,
  leaves_ms: ({ first }, now) => (first.month === now.month ? now.month_ends_ms - now.epoch_ms : 0),
};

/** Until settlement. The end of a running exchange is unknown: a second is the suggested wait. */
const running: Window = { has: () => true, leaves_ms: () => 1000 };

const windows: Readonly<Record<LimitWindowName, Window>> = {
  minute: sliding(limitWindows.minute.duration_ms),
  day,
  month,
  running,
};

/** What counts under one limit of an account. */
export class Counter {
  readonly limit: Limit;
  readonly #window: Window;
  /** The oldest first; at most 61. */
  readonly #slots: Slot[] = [];
  #used = 0;

  constructor(limit: Limit) {
    this.limit = limit;
    this.#window = windows[limitTable[limit.name].window];
  }

  used(now: Now): number {
    while (this.#slots.length > 0 && this.#window.leaves_ms(this.#slots[0]!, now) <= 0)
      this.#used -= this.#slots.shift()!.amount;
    return this.#used;
  }

  /** Milliseconds until `amount` more is within `max`; 0 if it is now, a second if `amount` alone is above. */
  wait_ms(amount: number, max: number, now: Now): number {
    let over = this.used(now) + amount - max;
    for (const slot of this.#slots) {
      if (over <= 0) break;
      over -= slot.amount;
      if (over <= 0) return this.#window.leaves_ms(slot, now);
    }
    return over > 0 ? 1000 : 0;
  }

  /** Milliseconds until nothing is counted; 0 for concurrency. */
  reset_ms(now: Now): number {
    const isCounted = this.used(now) > 0 && this.#window !== running;
    return isCounted ? this.#window.leaves_ms(this.#slots.findLast(({ amount }) => amount > 0)!, now) : 0;
  }

  add(amount: number, now: Now): void {
    if (amount <= 0) return;
    this.#used = this.used(now) + amount;
    const newest = this.#slots.at(-1);
    if (newest && this.#window.has(newest, now)) {
      newest.last_ms = now.elapsed_ms;
      newest.amount += amount;
    } else this.#slots.push({ first: now, last_ms: now.elapsed_ms, amount });
  }

  /** Gives back part of what was added at `added`, as far as it still counts. */
  giveBack(amount: number, added: Now, now: Now): void {
    this.used(now);
    const slot = this.#slots.findLast(slot => this.#window.has(slot, added));
    if (!slot) return;
    const given = Math.min(amount, slot.amount);
    slot.amount -= given;
    this.#used -= given;
  }
}
