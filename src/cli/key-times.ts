import { isDay } from '../common/calendar-day.ts';
import { day_ms, hour_ms, minute_ms } from '../common/durations.ts';
import { UsageMistake } from './command.ts';

/** Milliseconds of the units of times. */
export const units_ms = { m: minute_ms, h: hour_ms, d: day_ms, w: 7 * day_ms } as const;

/** Milliseconds of `12h`, `30d` or `8w`; undefined for anything else. */
function durationOf(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,5})([mhdw])$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * units_ms[unit as keyof typeof units_ms];
}

/** Milliseconds for which a rotated key goes on working. */
export function overlapOf(text: string): number {
  const overlap_ms = text === '0' ? 0 : durationOf(text);
  if (overlap_ms !== undefined) return overlap_ms;
  throw new UsageMistake(`--overlap: '${text}' is no time; use 0, 30m, 1h, 7d or 2w`);
}

/** The end of something that lasts `--for` from now or is over at `--until`; null with neither. Throws a UsageMistake. */
export function endOf({
  for: lasts,
  until,
}: {
  readonly for?: string;
  readonly until?: string;
}): number | null {
  if (lasts !== undefined && until !== undefined) throw new UsageMistake('give --for or --until, not both');
  if (until !== undefined) return expiryOf('--until', until);
  if (lasts === undefined) return null;
  const lasts_ms = durationOf(lasts);
  if (!lasts_ms) throw new UsageMistake(`--for: '${lasts}' is no time; use 30m, 2h or 7d`);
  return Date.now() + lasts_ms;
}

/** Parses `12h`, `30d` or `8w` from now, a day such as `2027-01-31` (its beginning, in UTC), or an ISO time, into milliseconds since 1970. */
export function expiryOf(where: string, text: string): number {
  const now_ms = Date.now();
  const lasts_ms = durationOf(text);
  const at_ms = lasts_ms === undefined ? dateOf(text) : now_ms + lasts_ms;
  if (at_ms === undefined)
    throw new UsageMistake(
      `${where}: '${text}' is no time; use 12h, 30d, 8w, 2027-01-31 or 2027-01-31T18:00Z`,
    );
  if (at_ms <= now_ms) throw new UsageMistake(`${where}: ${text} has passed already`);
  return at_ms;
}

function dateOf(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text)) return undefined;
  const at_ms = Date.parse(text);
  // Date.parse takes 2027-02-31 for a day in March.
  return Number.isNaN(at_ms) || (text.length === 10 && !isDay(text)) ? undefined : at_ms;
}
