import { day_ms } from './durations.ts';
import { timeZone } from './time-zone.ts';

/** A time in milliseconds since 1970: from `start_ms` on, and before `end_ms`. */
export interface Period {
  readonly start_ms: number;
  readonly end_ms: number;
}

/** What follows one another without gaps; `total` is one that never ends. */
export type PeriodUnit = 'day' | 'week' | 'month' | 'total';

/** Later than anything ends: a time that can still be written with four digits of the year. */
export const never_ms = Date.UTC(9999, 11, 31);

/** Days of the calendar are counted from 1970-01-01, which was a Thursday. */
const first_monday = 4;

/** The first day of the period that a day is in, and of the next one. `start_day` is 1 for Monday, or a day that every month has. */
function daysAround(unit: Exclude<PeriodUnit, 'total'>, start_day: number, day: number): [number, number] {
  if (unit === 'day') return [day, day + 1];
  if (unit === 'week') {
    const first = day - modulo(day - first_monday - (start_day - 1), 7);
    return [first, first + 7];
  }
  const date = new Date(day * day_ms);
  const month = date.getUTCMonth() - (date.getUTCDate() < start_day ? 1 : 0);
  const firstOf = (month: number) => Date.UTC(date.getUTCFullYear(), month, start_day) / day_ms;
  return [firstOf(month), firstOf(month + 1)];
}

const modulo = (value: number, by: number): number => ((value % by) + by) % by;

/** The days, weeks or months of a time zone, one after another; days have 23 or 25 hours where its clocks change. */
export class CalendarPeriods {
  readonly #unit: PeriodUnit;
  readonly #zone;
  readonly #start_day: number;
  #last: Period | undefined;

  constructor(unit: PeriodUnit, time_zone = 'UTC', start_day = 1) {
    this.#unit = unit;
    this.#zone = timeZone(time_zone);
    this.#start_day = start_day;
    if (unit === 'total') this.#last = { start_ms: 0, end_ms: never_ms };
  }

  /** The one that a time is in. */
  around(epoch_ms: number): Period {
    const last = this.#last;
    if (last && epoch_ms >= last.start_ms && epoch_ms < last.end_ms) return last;
    const found = this.#find(epoch_ms);
    this.#last = found;
    return found;
  }

  #find(epoch_ms: number): Period {
    if (this.#unit === 'total') return this.#last!;
    const day = this.#zone.dayOf(epoch_ms);
    let [first, next] = daysAround(this.#unit, this.#start_day, day);
    // Where clocks go back over midnight, an hour shows the day before once more.
    if (epoch_ms >= this.#zone.startOf(next)) [first, next] = daysAround(this.#unit, this.#start_day, next);
    return { start_ms: this.#zone.startOf(first), end_ms: this.#zone.startOf(next) };
  }
}

const known = new Map<string, CalendarPeriods>();

/** The same object for the same periods. */
export function calendarPeriods(unit: PeriodUnit, time_zone = 'UTC', start_day = 1): CalendarPeriods {
  const name = `${unit} ${time_zone} ${start_day}`;
  let periods = known.get(name);
  if (!periods) known.set(name, (periods = new CalendarPeriods(unit, time_zone, start_day)));
  return periods;
}
