import { monthStart } from '../../../common/calendar-day.ts';
import { day_ms } from '../../../common/durations.ts';

/** No month is longer. */
const month_ms = 31 * day_ms;

/** A day and a month in UTC by their beginnings, and when they end, in milliseconds since 1970. */
export interface CalendarDay {
  readonly day: number;
  readonly day_ends_ms: number;
  readonly month: number;
  readonly month_ends_ms: number;
}

/** The UTC day of `epoch_ms`. */
export function calendarDayOf(epoch_ms: number): CalendarDay {
  const day = Math.floor(epoch_ms / day_ms) * day_ms;
  const [month, month_ends_ms] = [monthStart(epoch_ms, 0), monthStart(epoch_ms, 1)];
  return { day, day_ends_ms: day + day_ms, month, month_ends_ms };
}

/**
 * The day and the month that count. A clock that is set back does not repeat a day: neither goes back to an earlier one for the length of a
 * day or a month, after which a clock that was set forward by mistake no longer holds them.
 */
export class Calendar implements CalendarDay {
  day = Number.NEGATIVE_INFINITY;
  day_ends_ms = 0;
  month = Number.NEGATIVE_INFINITY;
  month_ends_ms = 0;
  /** When each began to count in this process, on the monotonic clock. */
  day_began_ms = 0;
  month_began_ms = 0;
  /** True while the clock shows an earlier day or month than counts. */
  isSetBack = false;

  /** Reads what counts at a time: the same within `day`, unless the clock is set back. */
  pass(epoch_ms: number, elapsed_ms: number): void {
    const shown = calendarDayOf(epoch_ms);
    const day_left_ms = this.day_began_ms + day_ms - elapsed_ms;
    const month_left_ms = this.month_began_ms + month_ms - elapsed_ms;
    const keepsDay = shown.day < this.day && day_left_ms > 0;
    const keepsMonth = shown.month < this.month && month_left_ms > 0;
    this.isSetBack = keepsDay || keepsMonth;
    if (!keepsDay && shown.day !== this.day) this.day_began_ms = elapsed_ms;
    if (!keepsMonth && shown.month !== this.month) this.month_began_ms = elapsed_ms;
    if (!keepsDay) this.day = shown.day;
    if (!keepsMonth) this.month = shown.month;
    this.day_ends_ms = keepsDay ? Math.min(this.day + day_ms, epoch_ms + day_left_ms) : shown.day_ends_ms;
    this.month_ends_ms = keepsMonth
      ? Math.min(monthStart(this.month, 1), epoch_ms + month_left_ms)
      : shown.month_ends_ms;
  }
}
