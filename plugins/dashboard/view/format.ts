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
export const numberOf = (count: number): string =>
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

/** Dollars as text: `$1 234.50`, `$0.0042`. Two decimals from a dollar on, two to four below, and two digits of what is less than a cent. */
export function dollarText(usd: number): string {
  if (usd < 0) return `−${dollarText(-usd)}`;
  const decimals = usd >= 1 || usd === 0 ? 2 : Math.max(4, Math.ceil(-Math.log10(usd)) + 1);
  const [whole = '0', fraction = ''] = usd.toFixed(decimals).split('.');
  return `$${numberOf(Number(whole))}.${fraction.replace(/(?<=\d\d)0+$/, '')}`;
}

/** Dollars for a page, with the exact sum as the tooltip. */
export const dollars = (cost_usd: string): Html =>
  html`<data value="${cost_usd}" title="exactly ${cost_usd} USD">${dollarText(Number(cost_usd))}</data>`;
