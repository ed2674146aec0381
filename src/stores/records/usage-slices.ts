import { day_ms, dayOf, type Range, wholeMonths } from './calendar-day.ts';
import { Condition } from './database.ts';
import type { LedgerRow } from './ledger-entry.ts';
import type { UsageGroup, UsageQuery } from './usage-query.ts';

/**
 * The sums that are kept of the ledger, so that a query reads thousands of rows and not a million. By the day:
 *
 * - an account, a model: all others could be added up from these
 * - all accounts, a model: for queries without accounts
 * - an account, all models: for queries about every account
 *
 * and by the month an account and all models, for long times. Each is a row of `daily_sums` or of `monthly_sums`.
 */

/** No account has this name. */
const all_accounts = '';
/** No model has this name; an exchange that named none has the empty one. */
export const all_models = '*';

/** The key of the sum from which all others are added up, with the day as a number since 1970. */
export type FinestKey = Readonly<{ day: number; account: string; model: string }>;

export const finestOf = (exchange: Pick<LedgerRow, 'started_ms' | 'account' | 'model'>): FinestKey => ({
  day: Math.floor(exchange.started_ms / day_ms),
  account: exchange.account,
  model: exchange.model ?? '',
});

/** The keys of the kept sums that it is added to. Throws a RangeError for a number without a day. */
export function slicesOf({ day: number, account, model }: FinestKey) {
  const day = dayOf(number * day_ms);
  return {
    daily: [
      { model, day, account },
      { model, day, account: all_accounts },
      { model: all_models, day, account },
    ],
    monthly: { month: day.slice(0, 7), account },
  };
}

/** Kept sums that answer a query: of which table, and which rows. */
export interface Slice {
  readonly table: keyof typeof columnsOf;
  readonly where: Condition;
}

/** The columns, or expressions, of usage groups in each table. */
export const columnsOf = {
  daily_sums: { account: 'account', model: 'model', day: 'day', month: 'substr(day, 1, 7)' },
  monthly_sums: { account: 'account', model: "''", day: "''", month: 'month' },
} as const satisfies Record<string, Record<UsageGroup, string>>;

/** The fewest kept sums that answer a query, none of them counted twice. */
export function slicesFor({ account, model, from_day, to_day, by }: UsageQuery): readonly Slice[] {
  const all: Range = [from_day, to_day];
  if (account !== undefined || !by.includes('account')) {
    // A model as a range, or SQLite would look for the model first, which has the rows of all accounts.
    const ofAccount = new Condition()
      .and('account = ?', account ?? all_accounts)
      .and('model BETWEEN ? AND ?', model, model)
      .and('model <> ?', all_models);
    return [daily(all, ofAccount)];
  }
  if (model !== undefined || by.includes('model')) {
    const ofAccounts = new Condition().and('account <> ?', all_accounts);
    return [daily(all, ofAccounts.and('model = ?', model).and('model <> ?', all_models))];
  }
  const ofAllModels = () => new Condition().and('model = ?', all_models);
  if (by.includes('day')) return [daily(all, ofAllModels())];
  const { months, days } = wholeMonths(from_day, to_day);
  const monthly: Slice[] = months
    ? [{ table: 'monthly_sums', where: between(new Condition(), 'month', months) }]
    : [];
  return [...monthly, ...days.map(range => daily(range, ofAllModels()))];
}

const daily = (range: Range, where: Condition): Slice => ({
  table: 'daily_sums',
  where: between(where, 'day', range),
});

const between = (where: Condition, column: string, [from, to]: Range) =>
  where.and(`${column} >= ?`, from).and(`${column} <= ?`, to);
