import { day_ms } from './durations.ts';

/** Days as `2026-11-20`, months as `2026-11` and hours as `2026-11-20 12:00`, all in UTC. */

/** Whether `text` is a day of the calendar. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const at_ms = timeOf(text);
  return !Number.isNaN(at_ms) && dayOf(at_ms) === text;
}

/** `2026-11-20`: the day of a time. */
export const dayOf = (epoch_ms: number): string => new Date(epoch_ms).toISOString().slice(0, 10);
/** `2026-11`: the month of a time. */
export const monthOf = (epoch_ms: number): string => dayOf(epoch_ms).slice(0, 7);
/** `2026-11-20 12:00`: the hour of a time. */
export const hourOf = (epoch_ms: number): string =>
  `${new Date(epoch_ms).toISOString().slice(0, 13).replace('T', ' ')}:00`;
/** The beginning of a day. */
const timeOf = (day: string): number => Date.parse(`${day}T00:00:00Z`);

/** The beginning of the month of a time, or of a later month. */
export function monthStart(epoch_ms: number, later: number): number {
  const at = new Date(epoch_ms);
  at.setUTCHours(0, 0, 0, 0);
  return at.setUTCMonth(at.getUTCMonth() + later, 1);
}

/** The last day of a month such as `2026-11`. */
export const lastDayOf = (month: string): string => dayOf(monthStart(timeOf(`${month}-01`), 1) - day_ms);

/** Days, or months, both inclusive; open where it is undefined. */
export type Range = readonly [from: string | undefined, to: string | undefined];

/** The months that lie wholly in a time, and the days before and after them. */
export function wholeMonths(
  from_day: string | undefined,
  to_day: string | undefined,
): { readonly months?: Range; readonly days: readonly Range[] } {
  const first_ms = from_day === undefined ? -Infinity : monthStart(timeOf(from_day) - day_ms, 1);
  const end_ms = to_day === undefined ? Infinity : monthStart(timeOf(to_day) + day_ms, 0);
  if (first_ms >= end_ms) return { days: [[from_day, to_day]] };
  const days: Range[] = [];
  if (from_day !== undefined && first_ms > timeOf(from_day)) days.push([from_day, dayOf(first_ms - day_ms)]);
  if (to_day !== undefined && end_ms <= timeOf(to_day)) days.push([dayOf(end_ms), to_day]);
  return {
    months: [from_day && monthOf(first_ms), to_day && monthOf(end_ms - day_ms)],
    days,
  };
}
