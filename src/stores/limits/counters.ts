import type { CalendarDay } from './calendar.ts';

/** The present moment: one look at the clock for all counters of a take. */
export interface Now extends CalendarDay {
  /** Never runs backwards; what minutes slide along. */
  readonly elapsed_ms: number;
  /** Since 1970. */
  readonly epoch_ms: number;
}

/** Where an amount was added, so that a part of it can be given back there. */
export type Place = Slot | number;

/** What has been taken under one limit. */
export interface Counter {
  used(now: Now): number;
  /** How long until `amount` more makes no more than `max`; 0 if it does so now. `amount` is at most `max`. */
  wait_ms(amount: number, max: number, now: Now): number;
  /** Until nothing counts any longer. */
  reset_ms(now: Now): number;
  add(amount: number, now: Now): Place;
  /** Does nothing where what was added counts no longer. */
  giveBack(amount: number, place: Place, now: Now): void;
}

const minute_ms = 60_000;
/** What is added within this time is kept as one amount and leaves the window together, with the last of it. */
const slot_ms = 1000;

/** Amounts added within a second. */
export interface Slot {
  readonly first_ms: number;
  last_ms: number;
  /** 0 when it has left the window. */
  amount: number;
}

/** Where nothing was added. */
const nowhere: Slot = { first_ms: 0, last_ms: 0, amount: 0 };

/** The amounts of the last 60 s, in at most 61 slots; each counts for 60 to 61 s. */
export class SlidingMinute implements Counter {
  readonly #slots: Slot[] = [];
  /** The slots before this one have left the window. */
  #oldest = 0;
  #used = 0;

  used({ elapsed_ms }: Now): number {
    const slots = this.#slots;
    while (this.#oldest < slots.length && slots[this.#oldest]!.last_ms + minute_ms <= elapsed_ms) {
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
      if (over <= 0) return last_ms + minute_ms - now.elapsed_ms;
    }
    return 0;
  }

  reset_ms(now: Now): number {
    this.used(now);
    const newest = this.#slots.findLast(({ amount }) => amount > 0);
    return newest ? newest.last_ms + minute_ms - now.elapsed_ms : 0;
  }

  add(amount: number, now: Now): Slot {
    if (amount === 0) return nowhere;
    this.used(now);
    this.#used += amount;
    const last = this.#slots.at(-1);
    if (last && now.elapsed_ms - last.first_ms < slot_ms) {
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

/** The amounts of the present day or month. */
export class CalendarSum implements Counter {
  readonly #unit: 'day' | 'month';
  #period = -1;
  #sum = 0;

  constructor(unit: 'day' | 'month') {
    this.#unit = unit;
  }

  used(now: Now): number {
    const period = now[this.#unit];
    if (period !== this.#period) {
      this.#period = period;
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
    return this.#period;
  }

  /** Counts `amount` at least. */
  raise(amount: number, now: Now): void {
    this.#sum = Math.max(this.used(now), amount);
  }

  giveBack(amount: number, place: Place, now: Now): void {
    if (place === now[this.#unit]) this.#sum = Math.max(0, this.used(now) - amount);
  }

  #ends_ms(now: Now): number {
    return this.#unit === 'day' ? now.day_ends_ms : now.month_ends_ms;
  }
}

/** When one of the running exchanges ends, nobody knows. */
const unknown_wait_ms = 1000;

/** The exchanges that run now. */
export class Running implements Counter {
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
