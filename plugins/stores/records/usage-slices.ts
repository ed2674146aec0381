import {
  all_models,
  day_ms,
  hour_ms,
  hourOf,
  hours_ms,
  rowMarks,
  type UsageGroup,
  type UsageQuery,
  wholeMonths,
} from '../../../src/store-plugin.ts';
import type { AlikeExchanges } from './exchange-counts.ts';
import { Condition } from './statements.ts';

/** Days, or months, both inclusive. */
type Range = readonly [from: string | undefined, to: string | undefined];

/**
 * The sums that are kept of the ledger, so that a query reads thousands of rows and not a million:
 *
 * - `daily_sums`: an account and a model; an account and all models, for queries about every account
 * - `monthly_sums`: an account and all models, for long times
 * - `hourly_sums`: an account with its keys; all accounts together, without. The time is first in the key, so that new rows lie together
 * - `provider_sums`: all accounts by the day, for queries about providers, or without accounts
 */

/** No account has this name: sums of all accounts have it. */
const all_accounts = '';

/** The columns by which they are added up; all are text, and empty where there is none. */
export const hourlySumKeys = 'hour, account, model, provider, key_id';
export const providerSumKeys = 'day, model, provider';
export const totalSumKeys = 'key_id, account, model';

/** The keys of the rows to which exchanges are added, by table. Throws a RangeError for a time without a day. */
export function slicesOf({ started_ms, account, model, provider, key_id }: AlikeExchanges) {
  const hour = hourOf(started_ms);
  const day = hour.slice(0, 10);
  return {
    daily_sums: [
      { model, day, account },
      { model: all_models, day, account },
    ],
    monthly_sums: [{ month: day.slice(0, 7), account }],
    hourly_sums: [
      { hour, account, model, provider, key_id: key_id ?? '' },
      { hour, account: all_accounts, model, provider, key_id: '' },
    ],
    provider_sums: [{ day, model, provider }],
  };
}

/** Kept sums that answer a query: of which table, and which rows. */
export interface Slice {
  readonly table: keyof typeof columnsOf;
  readonly where: Condition;
}

const none = { account: "''", model: "''", provider: "''", key: "''", hour: "''", day: "''", month: "''" };

/** The columns, or expressions, of usage groups in each table. */
export const columnsOf = {
  daily_sums: { ...none, account: 'account', model: 'model', day: 'day', month: 'substr(day, 1, 7)' },
  monthly_sums: { ...none, account: 'account', month: 'month' },
  provider_sums: {
    ...none,
    model: 'model',
    provider: 'provider',
    day: 'day',
    month: 'substr(day, 1, 7)',
  },
  hourly_sums: {
    ...none,
    account: 'account',
    model: 'model',
    provider: 'provider',
    key: 'key_id',
    hour: 'hour',
    day: 'substr(hour, 1, 10)',
    month: 'substr(hour, 1, 7)',
  },
} as const satisfies Record<string, Record<UsageGroup, string>>;

/** The fewest kept sums that answer a query, none of them counted twice. */
export function slicesFor(query: UsageQuery): readonly Slice[] {
  const { account, model, from_day, to_day, by, among } = query;
  const slices = detailedSlices(query);
  if (slices) return slices;
  const all: Range = [from_day, to_day];
  if (account !== undefined) {
    // A model as a range, or SQLite would look for the model first, which has the rows of all accounts.
    const ofAccount = new Condition()
      .and('account = ?', account)
      .and('model BETWEEN ? AND ?', model, model)
      .and('model <> ?', all_models);
    return [daily(all, ofAccount)];
  }
  if (model !== undefined || by.includes('model')) {
    return [daily(all, new Condition().and('model = ?', model).and('model <> ?', all_models))];
  }
  // Of a few accounts, which are looked for first: the model as a range, as above.
  if (among?.group === 'account')
    return [daily(all, new Condition().and('model BETWEEN ? AND ?', all_models, all_models))];
  const ofAllModels = () => new Condition().and('model = ?', all_models);
  if (by.includes('day')) return [daily(all, ofAllModels())];
  const { months, days } = wholeMonths(from_day, to_day);
  const monthly: Slice[] = months
    ? [{ table: 'monthly_sums', where: between(new Condition(), 'month', months) }]
    : [];
  return [...monthly, ...days.map(range => daily(range, ofAllModels()))];
}

/** The sums of a query about providers, keys or hours, or all accounts together; undefined for any other. */
function detailedSlices(query: UsageQuery): readonly Slice[] | undefined {
  const { account, model, provider, key, from_day, to_day, by } = query;
  const hasKey = key !== undefined || by.includes('key');
  const hasHour = by.includes('hour');
  const hasProvider = provider !== undefined || by.includes('provider');
  const hasAccount = account !== undefined || by.includes('account');
  if (!hasKey && !hasHour && !hasProvider && hasAccount) return undefined;
  const where = new Condition().and('model = ?', model).and('provider = ?', provider);
  const ofEach = account === undefined && (hasKey || by.includes('account'));
  if (account === undefined && !ofEach && !hasHour)
    return [{ table: 'provider_sums', where: between(where, 'day', [from_day, to_day]) }];
  where.and('key_id = ?', key);
  if (ofEach) where.and('account <> ?', all_accounts);
  else where.and('account = ?', account ?? all_accounts);
  // Single hours, or the sums of all accounts in that time would be read.
  const hours = ofEach ? undefined : hoursOf(from_day, to_day);
  if (hours) where.and(`hour IN ${rowMarks(1, hours.length)}`, ...hours);
  else between(where, 'hour', [from_day && `${from_day} 00:00`, to_day && `${to_day} 23:00`]);
  return [{ table: 'hourly_sums', where }];
}

/** The hours of some days; undefined for no days, and for more than are kept. */
function hoursOf(from_day: string | undefined, to_day: string | undefined): string[] | undefined {
  if (from_day === undefined || to_day === undefined) return undefined;
  const first_ms = Date.parse(from_day);
  const days = (Date.parse(to_day) - first_ms) / day_ms + 1;
  if (days < 1 || days > hours_ms / day_ms + 1) return undefined;
  return Array.from({ length: days * 24 }, (_, at) => hourOf(first_ms + at * hour_ms));
}

const daily = (range: Range, where: Condition): Slice => ({
  table: 'daily_sums',
  where: between(where, 'day', range),
});

const between = (where: Condition, column: string, [from, to]: Range) =>
  where.and(`${column} >= ?`, from).and(`${column} <= ?`, to);
