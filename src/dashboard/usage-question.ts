import { dayOf, isDay } from '../stores/records/calendar-day.ts';
import { no_model } from '../stores/records/usage-columns.ts';

/** A query of the ledger. Days are in UTC and both inclusive, as for `sluice usage`. */
export interface UsageQuestion {
  readonly from_day: string;
  readonly to_day: string;
  readonly account: string | undefined;
  /** Empty for exchanges that named no model. */
  readonly model: string | undefined;
}

/** Parses a page's query; without days, the current month. If it is invalid, `fault` says why, and the current month is used. */
export function usageQuestion(
  query: URLSearchParams,
  now_ms: number,
): { readonly question: UsageQuestion; readonly fault?: string } {
  const today = dayOf(now_ms);
  const month_start = `${today.slice(0, 8)}01`;
  const model = textOf(query, 'model');
  const whose = { account: textOf(query, 'account'), model: model === no_model ? '' : model };
  const from_day = query.get('from') || month_start;
  const to_day = query.get('to') || [today, from_day].sort()[1]!;
  const fault = faultOf(from_day, to_day);
  if (fault === undefined) return { question: { from_day, to_day, ...whose } };
  return { question: { from_day: month_start, to_day: today, ...whose }, fault };
}

/** A field of a query without NUL, which Postgres rejects and no account or model has; undefined if empty. */
const textOf = (query: URLSearchParams, name: string): string | undefined =>
  query.get(name)?.trim().replaceAll('\0', '\ufffd') || undefined;

/** The same query for a link. */
export const queryOf = ({ from_day, to_day, account, model }: UsageQuestion) => ({
  from: from_day,
  to: to_day,
  account,
  model: model === '' ? no_model : model,
});

function faultOf(from_day: string, to_day: string): string | undefined {
  const wrong = [from_day, to_day].find(text => !isDay(text));
  if (wrong !== undefined) return `“${wrong.slice(0, 40)}” is no day such as 2026-11-20.`;
  return from_day > to_day ? `The first day, ${from_day}, is after the last, ${to_day}.` : undefined;
}

/**
 * Extends a query that ends today or later to the end of the month, which has no entries yet: sums of whole months are answered from stored
 * sums.
 */
export function toMonthEnd(question: UsageQuestion, now_ms: number): UsageQuestion {
  const { to_day } = question;
  if (to_day < dayOf(now_ms)) return question;
  const [year, month] = to_day.split('-').map(Number) as [number, number];
  return { ...question, to_day: dayOf(Date.UTC(year, month, 0)) };
}
