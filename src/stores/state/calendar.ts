const day_ms = 86_400_000;

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

/** Whether `epoch_ms` lies in `calendarDay`. */
export const isWithin = ({ day_ends_ms }: CalendarDay, epoch_ms: number): boolean =>
  epoch_ms < day_ends_ms && epoch_ms >= day_ends_ms - day_ms;
