import { monthStart } from '../../common/calendar-day.ts';
import { day_ms } from '../../common/durations.ts';

/** No month is longer. */
const month_ms = 31 * day_ms;

/** A day and a month in UTC, and when they end, in milliseconds since 1970. */
export interface CalendarDay {
  readonly day: number;
  readonly day_ends_ms: number;
  readonly month: number;
  readonly month_ends_ms: number;
}

/** The UTC day of `epoch_ms`. */
export function calendarDayOf(epoch_ms: number): CalendarDay {
  const day = Math.floor(epoch_ms / day_ms);
  const date = new Date(epoch_ms);
  return {
    day,
    day_ends_ms: (day + 1) * day_ms,
    month: date.getUTCFullYear() * 12 + date.getUTCMonth(),
    month_ends_ms: monthStart(epoch_ms, 1),
  };
}

/**
 * The day and the month that count. A clock that is set back does not repeat a day: neither goes back to an earlier one for the length of a
 * day or a month, after which a clock that was set forward by mistake no longer holds them.
 */
export class Calendar {
  readonly #day = new Period(day_ms);
  readonly #month = new Period(month_ms);
  /** The day that the clock showed last. */
  #shown: CalendarDay | undefined;

  at(epoch_ms: number, elapsed_ms: number): CalendarDay {
    const isSameDay = this.#shown?.day === Math.floor(epoch_ms / day_ms);
    if (!isSameDay) this.#shown = calendarDayOf(epoch_ms);
    const { day, day_ends_ms, month, month_ends_ms } = this.#shown!;
    this.#day.pass(day, day_ends_ms, epoch_ms, elapsed_ms);
    this.#month.pass(month, month_ends_ms, epoch_ms, elapsed_ms);
    return {
      day: this.#day.number,
      day_ends_ms: this.#day.ends_ms,
      month: this.#month.number,
      month_ends_ms: this.#month.ends_ms,
    };
  }
}

/** The day or month that counts now. */
class Period {
  number = Number.NEGATIVE_INFINITY;
  ends_ms = 0;
  readonly #longest_ms: number;
  /** When it began to count in this process, on the monotonic clock, and its end by the calendar. */
  #began_ms = 0;
  #last_ms = 0;

  constructor(longest_ms: number) {
    this.#longest_ms = longest_ms;
  }

  /** The clock shows the period `number`, which ends at `ends_ms`. */
  pass(number: number, ends_ms: number, epoch_ms: number, elapsed_ms: number): void {
    const left_ms = this.#began_ms + this.#longest_ms - elapsed_ms;
    if (number < this.number && left_ms > 0) {
      this.ends_ms = Math.min(this.#last_ms, epoch_ms + left_ms);
      return;
    }
    if (number !== this.number) this.#began_ms = elapsed_ms;
    this.number = number;
    this.ends_ms = this.#last_ms = ends_ms;
  }
}
