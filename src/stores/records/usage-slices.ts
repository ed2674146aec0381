import { Condition } from './condition.ts';
import type { LedgerRow } from './ledger-records.ts';
import type { UsageQuery } from './usage-records.ts';

/**
 * The sums that are kept of the ledger, so that a question is answered from hundreds of rows and not from a million. One table has them
 * all; `account` and `model` tell which sum a row is of:
 *
 * - a day, an account, a model: what everything else could be added up from
 * - a day, all accounts, a model: for what is asked about everybody
 * - a month, an account, all models: for what is asked about every account
 */

/** No account has this name. */
const all_accounts = '';
/** No model has this name; an exchange that named none has the empty one. */
const all_models = '*';

/** Which sum: its period, account and model. */
export type SliceKey = readonly [period: string, account: string, model: string];

/** What everything is added up from, with the day as a number since 1970. */
export type FinestKey = readonly [day: number, account: string, model: string];

const day_ms = 86_400_000;

export const finestOf = ({ started_ms, account, model }: LedgerRow): FinestKey => [
  Math.floor(started_ms / day_ms),
  account,
  model ?? '',
];

/** The sums that are kept of it. Throws a RangeError for a day that is none. */
export function slicesOf([number, account, model]: FinestKey): readonly SliceKey[] {
  const day = new Date(number * day_ms).toISOString().slice(0, 10);
  return [
    [day, account, model],
    [day, all_accounts, model],
    [day.slice(0, 7), account, all_models],
  ];
}

/** The sums from which a question is answered: the fewest that can. */
export function sliceFor(query: UsageQuery): Condition {
  const { account, model, from_day, to_day, by } = query;
  const days = new Condition()
    .and('period >= ?', from_day)
    .and('period <= ?', to_day)
    .and('model = ?', model);
  if (account === undefined && !by.includes('account')) return days.and('account = ?', all_accounts);
  if (isOfMonths(query)) {
    return new Condition()
      .and('period >= ?', from_day?.slice(0, 7))
      .and('period <= ?', to_day?.slice(0, 7))
      .and('account = ?', account)
      .and('model = ?', all_models);
  }
  return days.and('account = ?', account).and('account <> ?', all_accounts).and('model <> ?', all_models);
}

/** Whether whole months are asked for, and neither days nor models apart. */
function isOfMonths({ model, from_day, to_day, by }: UsageQuery): boolean {
  if (model !== undefined || by.includes('model') || by.includes('day')) return false;
  return (from_day === undefined || from_day.endsWith('-01')) && (to_day === undefined || endsMonth(to_day));
}

function endsMonth(day: string): boolean {
  const next = new Date(Date.parse(`${day}T00:00:00Z`) + day_ms);
  return next.getUTCDate() === 1;
}
