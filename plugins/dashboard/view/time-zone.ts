import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import { parseCookie } from 'cookie';
import { day_ms } from '../../../src/plugin.ts';

/** The cookie with the name of the zone in which its reader wants to see times. */
export const zone_cookie = 'sluice_time_zone';
/** Longer than any name of a zone. */
const max_length = 64;

/** That of the reader for whom a page is being made; none for UTC. */
const readers = new AsyncLocalStorage<Intl.DateTimeFormat | undefined>();

/** The zone that `name` stands for, as the IANA calls it; undefined if there is none. */
export const zoneNamed = (name: string): string | undefined => formatOf(name)?.resolvedOptions().timeZone;

function formatOf(timeZone: string): Intl.DateTimeFormat | undefined {
  if (timeZone === '' || timeZone.length > max_length) return undefined;
  try {
    const [day, time] = [
      { year: 'numeric', month: 'numeric', day: 'numeric' },
      { hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' },
    ] as const;
    return new Intl.DateTimeFormat('en', { timeZone, ...day, ...time });
  } catch {
    return undefined;
  }
}

/** Makes a page for the reader who sent `request`: all its times are in the zone of the reader's cookie, and in UTC without. */
export const inReadersZone = <T>({ headers }: IncomingMessage, make: () => T): T =>
  readers.run(formatOf(parseCookie(headers.cookie ?? '')[zone_cookie] ?? ''), make);

/** The name of the reader's zone. */
export const zoneName = (): string => readers.getStore()?.resolvedOptions().timeZone ?? 'UTC';

/** A time as the reader's clock shows it: `2026-11-20T13:00:07.000`. */
export const localIso = (epoch_ms: number): string =>
  new Date(epoch_ms + offsetAt(epoch_ms)).toISOString().slice(0, -1);

/** How far the reader's clock is ahead of UTC. */
function offsetAt(epoch_ms: number): number {
  const parts = readers.getStore()?.formatToParts(epoch_ms);
  if (!parts) return 0;
  const part = (name: string) => Number(parts.find(({ type }) => type === name)?.value);
  const [year, month, day] = [part('year'), part('month'), part('day')];
  const local_ms = Date.UTC(year, month - 1, day, part('hour'), part('minute'), part('second'));
  return local_ms - Math.floor(epoch_ms / 1000) * 1000;
}

/**
 * The time at which the reader's clock shows `text`, as `2026-11-20T13:00` with or without seconds: the first of two where clocks are set
 * back, and as late as before where they are set forward. NaN for any other text.
 */
export function epochOf(text: string): number {
  const utc_ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) ? Date.parse(`${text}Z`) : Number.NaN;
  if (Number.isNaN(utc_ms) || !new Date(utc_ms).toISOString().startsWith(text)) return Number.NaN;
  const [before, after] = [utc_ms - offsetAt(utc_ms - day_ms), utc_ms - offsetAt(utc_ms + day_ms)];
  const isShown = (epoch_ms: number) => epoch_ms + offsetAt(epoch_ms) === utc_ms;
  return [before, after].find(isShown) ?? before;
}
