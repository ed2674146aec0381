import { Condition } from './condition.ts';
import type { LedgerRow } from './ledger-entry.ts';
import type { UsageGroup, UsageQuery } from './usage-query.ts';

/**
 * The sums that are kept of the ledger, so that a question is answered from thousands of rows and not from a million. By the day:
 *
 * - an account, a model: what everything else could be added up from
 * - all accounts, a model: for what is asked about everybody
 * - an account, all models: for what is asked about every account
 *
 * and by the month an account and all models, for long times. Each is a row of `daily_sums` or of `monthly_sums`.
 */

/** No account has this name. */
export const all_accounts = '';
/** No model has this name; an exchange that named none has the empty one. */
export const all_models = '*';

/** Which sum, in the order of the table's columns. */
export type DailyKey = readonly [model: string, day: string, account: string];
export type MonthlyKey = readonly [month: string, account: string];

/** What everything is added up from, with the day as a number since 1970. */
export type FinestKey = readonly [day: number, account: string, model: string];

const day_ms = 86_400_000;

type Began = Pick<LedgerRow, 'started_ms' | 'account' | 'model'>;

export const finestOf = ({ started_ms, account, model }: Began): FinestKey => [
  Math.floor(started_ms / day_ms),
  account,
  model ?? '',
];

/** The sums that are kept of it. Throws a RangeError for a day that is none. */
export function slicesOf([number, account, model]: FinestKey): {
  readonly daily: readonly DailyKey[];
  readonly monthly: MonthlyKey;
} {
  const day = dayOf(number * day_ms);
  return {
    daily: [
      [model, day, account],
      [model, day, all_accounts],
      [all_models, day, account],
    ],
    monthly: [monthOf(number * day_ms), account],
  };
}

/** Kept sums that a question is answered from: of which table, and which rows. */
export interface Slice {
  readonly table: keyof typeof columnsOf;
  readonly where: Condition;
}

/** The columns, or expressions, of usage groups in each table. */
export const columnsOf = {
  daily_sums: { account: 'account', model: 'model', day: 'day', month: 'substr(day, 1, 7)' },
  monthly_sums: { account: 'account', model: "''", day: "''", month: 'month' },
} as const satisfies Record<string, Record<UsageGroup, string>>;

/** The fewest kept sums that answer a question, none of them counted twice. */
export function slicesFor(query: UsageQuery): readonly Slice[] {
  const { account, model, from_day, to_day, by } = query;
  if (account !== undefined || !by.includes('account'))
    return [daily(from_day, to_day, ofAccount(account ?? all_accounts, model))];
  if (model !== undefined || by.includes('model'))
    return [daily(from_day, to_day, ofAllAccounts().and('model = ?', model).and('model <> ?', all_models))];
  const ofEach = () => new Condition().and('model = ?', all_models);
  if (by.includes('day')) return [daily(from_day, to_day, ofEach())];
  const { months, days } = wholeMonths(from_day, to_day);
  const monthly: Slice[] = months
    ? [{ table: 'monthly_sums', where: between(new Condition(), 'month', ...months) }]
    : [];
  return [...monthly, ...days.map(([from, to]) => daily(from, to, ofEach()))];
}

/** As a range, or SQLite would look for the model first, which has the rows of all accounts. */
const ofAccount = (account: string, model: string | undefined): Condition =>
  new Condition()
    .and('account = ?', account)
    .and('model BETWEEN ? AND ?', model, model)
    .and('model <> ?', all_models);

const ofAllAccounts = (): Condition => new Condition().and('account <> ?', all_accounts);

const daily = (from: string | undefined, to: string | undefined, where: Condition): Slice => ({
  table: 'daily_sums',
  where: between(where, 'day', from, to),
});

const between = (where: Condition, column: string, from: string | undefined, to: string | undefined) =>
  where.and(`${column} >= ?`, from).and(`${column} <= ?`, to);

type Range = readonly [from: string | undefined, to: string | undefined];

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
    months: [
      from_day === undefined ? undefined : monthOf(first_ms),
      to_day === undefined ? undefined : monthOf(end_ms - day_ms),
    ],
    days,
  };
}

export const dayOf = (epoch_ms: number): string => new Date(epoch_ms).toISOString().slice(0, 10);
export const monthOf = (epoch_ms: number): string => dayOf(epoch_ms).slice(0, 7);
const timeOf = (day: string): number => Date.parse(`${day}T00:00:00Z`);

/** When the month of a time began, or a later one. */
function monthStart(epoch_ms: number, later: number): number {
  const at = new Date(epoch_ms);
  at.setUTCHours(0, 0, 0, 0);
  return at.setUTCMonth(at.getUTCMonth() + later, 1);
}
