import { signedPicoUsd, signedUsdOf } from '../../../src/plugin.ts';
import { type Html, html } from './html.ts';
import { localIso } from './time-zone.ts';

/** `2026-11-20 12:00`, in the reader's zone. */
export const minuteOf = (epoch_ms: number): string => localIso(epoch_ms).slice(0, 16).replace('T', ' ');

/** The same with the exact time as its tooltip; “never” for `null`. */
export function timeOf(epoch_ms: number | null): Html {
  return epoch_ms === null ? muted('never') : timeElement(epoch_ms, minuteOf(epoch_ms));
}

/** `2026-11-20 12:00:07`, with the exact time as its tooltip; of the day of `now_ms` the time only, if that is given. */
export function secondOf(epoch_ms: number, now_ms?: number): Html {
  const text = localIso(epoch_ms).slice(0, 19).replace('T', ' ');
  const isToday = now_ms !== undefined && text.startsWith(localIso(now_ms).slice(0, 10));
  return timeElement(epoch_ms, isToday ? text.slice(11) : text);
}

/** Where it does not fit, the line is broken between the day and the time only. */
function timeElement(epoch_ms: number, text: string): Html {
  const iso = new Date(epoch_ms).toISOString();
  const [day, time] = text.split(' ');
  return html`<time datetime="${iso}" title="${iso}"><span class="nowrap">${day}</span> ${time}</time>`;
}

/** Text of less weight. */
export const muted = (text: string): Html => html`<span class="muted">${text}</span>`;

/** Duration: `12 s`, `5 min`, `3 h`, `20 days`. */
export function durationOf(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}

/** Seconds with three digits: `0.012 s`, `3.25 s`; a dash for `null`. */
export const secondsOf = (ms: number | null): string =>
  ms === null ? '–' : `${ms < 1000 ? (ms / 1000).toFixed(3) : Number((ms / 1000).toPrecision(3))} s`;

/** The same of a time that may be missing, to the millisecond. */
export const roundedSecondsOf = (ms: number | undefined): string =>
  secondsOf(ms === undefined ? null : Math.round(ms));

/** `0 %`, `0.12 %`, `34.5 %`. */
export const percentOf = (share: number): string =>
  `${Number((share * 100).toFixed(share < 0.01 ? 2 : 1))}\u00a0%`;

/** `+12.5 %`; from nothing there is no percentage. */
export function changeOf(now: number, before: number): string {
  if (before === 0) return now === 0 ? '±0 %' : 'new';
  const percent = ((now - before) / before) * 100;
  const rounded = Math.abs(percent) < 100 ? Number(percent.toFixed(1)) : Math.round(percent);
  if (rounded === 0) return '±0 %';
  return `${rounded > 0 ? '+' : '−'}${numberOf(Math.abs(rounded))} %`;
}

/** Number with thin spaces between thousands, which no locale reads as a decimal point. */
export const numberOf = (count: number | string): string =>
  count.toString().replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');

/** `1 key`, `2 keys`. */
export const countOf = (count: number, one: string, many = `${one}s`): string =>
  `${numberOf(count)} ${count === 1 ? one : many}`;

/** Relative URL of `page` with the query parameters that are set. */
export function linkOf(page: string, query: Readonly<Record<string, string | undefined>>): string {
  const set = Object.entries(query).filter((field): field is [string, string] => Boolean(field[1]));
  return set.length === 0 ? page : `${page}?${new URLSearchParams(set)}`;
}

/** The name of an account, which leads to its page. */
export const accountLink = (id: string): Html => html`<a href="${linkOf('account', { id })}">${id}</a>`;

const pico_decimals = 12;
const picoOf = (usd: string | number): bigint =>
  signedPicoUsd(typeof usd === 'number' ? usd.toFixed(pico_decimals) : usd);

/**
 * Decimals for all amounts of a column or chart: two, or, with one below a dollar, four at least and two digits of the least one; no more
 * than the longest has.
 */
export function decimalsOf(amounts: readonly (string | number)[]): number {
  const written = amounts.map(usd => signedUsdOf(picoOf(usd)).replace('-', '').split('.'));
  const zeros = written.map(([whole, fraction]) =>
    whole === '0' && fraction ? /^0*/.exec(fraction)![0].length + 2 : 0,
  );
  const most = Math.max(0, ...zeros);
  const longest = Math.max(0, ...written.map(([, fraction = '']) => fraction.length));
  return most === 0 ? 2 : Math.max(2, Math.min(longest, Math.max(4, most)));
}

/** Dollars as text: `$1 234.50`, with so many decimals, rounded; by default with those that matter. */
export function dollarText(usd: string | number, decimals = decimalsOf([usd])): string {
  const pico_usd = picoOf(usd);
  if (pico_usd < 0n) return `−${dollarText(signedUsdOf(-pico_usd), decimals)}`;
  const unit = 10n ** BigInt(pico_decimals - decimals);
  const digits = ((pico_usd + unit / 2n) / unit).toString().padStart(decimals + 1, '0');
  return `$${numberOf(digits.slice(0, -decimals))}.${digits.slice(-decimals)}`;
}

/** Dollars for a page, with the exact sum as the tooltip. */
export const dollars = (usd: string, decimals?: number): Html =>
  html`<data value="${usd}" title="exactly ${usd} USD">${dollarText(usd, decimals)}</data>`;
