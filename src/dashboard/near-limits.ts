import { dayOf } from '../stores/records/calendar-day.ts';
import { findAccount, type Use, usesOf } from './account-view.ts';
import type { DashboardContext } from './page-request.ts';

/** Newest exchanges searched for active accounts; then accounts looked up, limits shown. */
const newest_rows = 200;
const max_accounts = 20;
const max_shown = 8;

/** A limit of an account, in use. */
export interface NearLimit {
  readonly account: string;
  readonly use: Use;
}

/** Limits of recently active accounts that are nearest to being reached, nearest first; or why not, if the state store is unavailable. */
export async function nearLimits(context: DashboardContext): Promise<readonly NearLimit[] | 'out'> {
  if (context.state.outage) return 'out';
  const { ledger, usage } = context.records.store;
  const [rows, refused] = await Promise.all([
    ledger.list({ limit: newest_rows }),
    // Refused exchanges have no rows, and an account at its limit has no others.
    usage.refusals({ from_day: dayOf(context.clock.epoch_ms()), limit: max_accounts / 2 }),
  ]);
  const active = [...new Set([...refused, ...rows].map(({ account }) => account))].slice(0, max_accounts);
  const all = await Promise.all(active.map(account => limitsOf(context, account)));
  return all
    .flat()
    .filter(({ use }) => use.used > 0)
    .sort((a, b) => shareOf(b) - shareOf(a))
    .slice(0, max_shown);
}

const shareOf = ({ use }: NearLimit): number => use.used / use.limit.max;

async function limitsOf(context: DashboardContext, id: string): Promise<NearLimit[]> {
  const account = await findAccount(context, id);
  const uses = account ? await usesOf(context, account) : 'unknown';
  return typeof uses === 'string' ? [] : uses.map(use => ({ account: id, use }));
}
