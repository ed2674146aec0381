const day_ms = 86_400_000;
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
  const year = date.getUTCFullYear();
  const monthOfYear = date.getUTCMonth();
  return {
    day,
    day_ends_ms: (day + 1) * day_ms,
    month: year * 12 + monthOfYear,
    month_ends_ms: Date.UTC(year, monthOfYear + 1),
  };
}

/** The day or month that counts now. */
interface Period {
  readonly number: number;
  readonly ends_ms: number;
  /** When it began to count in this process, on the monotonic clock. */
  readonly began_ms: number;
}

/**
 * The day and the month that count. A clock that is set back does not repeat a day: neither goes back to an earlier one for the length of a
 * day or a month, after which a clock that was set forward by mistake no longer holds them.
 */
export class Calendar {
  #day: Period | undefined;
  #month: Period | undefined;
  #now: CalendarDay | undefined;

  at(epoch_ms: number, elapsed_ms: number): CalendarDay {
    if (this.#now && isWithin(this.#now, epoch_ms)) return this.#now;
    const current = calendarDayOf(epoch_ms);
    this.#day = periodAfter(this.#day, current.day, current.day_ends_ms, elapsed_ms, day_ms);
    this.#month = periodAfter(this.#month, current.month, current.month_ends_ms, elapsed_ms, month_ms);
    const isCurrent = this.#day.number === current.day && this.#month.number === current.month;
    this.#now = isCurrent ? current : undefined;
    if (isCurrent) return current;
    return {
      day: this.#day.number,
      day_ends_ms: endOf(this.#day, current.day, epoch_ms, elapsed_ms, day_ms),
      month: this.#month.number,
      month_ends_ms: endOf(this.#month, current.month, epoch_ms, elapsed_ms, month_ms),
    };
  }
}

function periodAfter(
  last: Period | undefined,
  number: number,
  ends_ms: number,
  elapsed_ms: number,
  longest_ms: number,
): Period {
  const isHeld =
    last && (number === last.number || (number < last.number && elapsed_ms - last.began_ms < longest_ms));
  return isHeld ? last : { number, ends_ms, began_ms: elapsed_ms };
}

/** The end of a period; one held while the clock shows an earlier one ends after the longest possible time, if not before. */
function endOf(
  period: Period,
  current: number,
  epoch_ms: number,
  elapsed_ms: number,
  longest_ms: number,
): number {
  if (period.number === current) return period.ends_ms;
  return Math.min(period.ends_ms, epoch_ms + period.began_ms + longest_ms - elapsed_ms);
}

/** Whether `epoch_ms` lies in `calendarDay`. */
const isWithin = ({ day_ends_ms }: CalendarDay, epoch_ms: number): boolean =>
  epoch_ms < day_ends_ms && epoch_ms >= day_ends_ms - day_ms;
