import { dayOf } from './calendar-day.ts';
import { day_ms, hour_ms, minute_ms } from './durations.ts';

/** More than any zone differs from UTC. */
const most_offset_ms = 15 * hour_ms;

/** A time zone of the IANA's database, as it is in this Node. Its days are counted from 1970-01-01, which is day 0. */
export interface TimeZone {
  /** The day that its clocks show at a time. */
  dayOf(epoch_ms: number): number;
  /** The first moment at which they show a day, or a later one where there is no such day: in most zones and days that is midnight. */
  startOf(day: number): number;
}

const utc: TimeZone = {
  dayOf: epoch_ms => Math.floor(epoch_ms / day_ms),
  startOf: day => day * day_ms,
};

class OffsetZone implements TimeZone {
  readonly #format: Intl.DateTimeFormat;

  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  }

  dayOf(epoch_ms: number): number {
    return Math.floor((epoch_ms + this.#offsetAt(epoch_ms)) / day_ms);
  }

  startOf(day: number): number {
    const shown_ms = day * day_ms;
    const before = this.#offsetAt(shown_ms - most_offset_ms);
    const after = this.#offsetAt(shown_ms + most_offset_ms);
    const start_ms = shown_ms - before;
    // The first of two midnights, where clocks go back over it.
    if (before === after || this.#offsetAt(start_ms) === before) return start_ms;
    const late_ms = shown_ms - after;
    if (this.#offsetAt(late_ms) === after) return late_ms;
    return this.#changeBetween(late_ms, start_ms, before);
  }

  /** When clocks go forward over midnight, in between two times. */
  #changeBetween(from_ms: number, until_ms: number, before: number): number {
    let [low, high] = [from_ms, until_ms];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.#offsetAt(middle) === before) low = middle;
      else high = middle;
    }
    return high;
  }

  #offsetAt(epoch_ms: number): number {
    const [, sign, hours, minutes, seconds = 0] =
      /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(this.#format.format(epoch_ms)) ?? [];
    if (!sign) return 0;
    const offset_ms = Number(hours) * hour_ms + Number(minutes) * minute_ms + Number(seconds) * 1000;
    return sign === '-' ? -offset_ms : offset_ms;
  }
}

const known = new Map<string, TimeZone>([['UTC', utc]]);

/** A zone by its name. Throws a RangeError for one that Node does not know. */
export function timeZone(name: string): TimeZone {
  let zone = known.get(name);
  if (!zone) known.set(name, (zone = new OffsetZone(name)));
  return zone;
}

/** `2026-11-20`: the day that clocks of a zone show at a time. */
export const dayIn = (name: string | undefined, epoch_ms: number): string =>
  dayOf(timeZone(name ?? 'UTC').dayOf(epoch_ms) * day_ms);

/** A name of the database, such as `Europe/Berlin`, as it is written there; `UTC` for all names of it; undefined for what is no name. */
export function timeZoneName(name: string): string | undefined {
  try {
    const { timeZone } = new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions();
    // Of a zone with several names Node has an old one: Asia/Calcutta.
    return timeZone === 'UTC' || timeZone.toLowerCase() === name.toLowerCase() ? timeZone : name;
  } catch {
    return undefined;
  }
}
