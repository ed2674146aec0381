import {
  type BudgetSum,
  dayOf,
  type ExtensionContext,
  isMoneyLimit,
  type Limit,
  limitsOf,
  neverResets,
  periodsOf,
  rowOf,
  windowOf,
} from '../../src/plugin.ts';
import type { AccountView } from './account-view.ts';

/** An account as it is listed. */
export interface ListedAccount extends AccountView {
  /** What it has cost in this month, in US dollars. */
  readonly cost_usd: string;
  /** Of its limits of a day, week or month or in total the one of which the most is used, by the ledger. */
  readonly nearest: { readonly limit: Limit; readonly share: number } | undefined;
  /** Keys that can be used; undefined if the store does not tell. */
  readonly active_keys: number | undefined;
  /** The start of its last request in the ledger; undefined if the store does not tell. */
  readonly last_used_ms: number | null | undefined;
}

/** The first and the last day of the present month: sums of whole months are kept. */
export function presentMonth(now_ms: number): { readonly from_day: string; readonly to_day: string } {
  const day = dayOf(now_ms);
  const [year, month] = day.split('-').map(Number) as [number, number];
  return { from_day: `${day.slice(0, 8)}01`, to_day: dayOf(Date.UTC(year, month, 0)) };
}

/** Adds what accounts cost, how near their limits they are, their keys and their last use: a query for each, however many they are. */
export async function withFigures(
  context: ExtensionContext,
  accounts: readonly AccountView[],
  seesMoney: boolean,
): Promise<ListedAccount[]> {
  if (accounts.length === 0) return [];
  const now_ms = context.clock.epoch_ms();
  const ids = accounts.map(({ id }) => id);
  const store = context.records.store;
  const among = { group: 'account', names: ids } as const;
  const [costs, activity, nearest] = await Promise.all([
    store.usage.sum({ ...presentMonth(now_ms), by: ['account'], among }),
    store.accounts.activity?.(ids, now_ms),
    nearestLimits(context, accounts, seesMoney),
  ]);
  const configuredKeys = ({ id, source }: AccountView) =>
    source === 'configuration' ? context.settings.accounts[id]!.keys.length : 0;
  const cost_of = new Map(costs.map(({ account, cost_usd }) => [account, cost_usd]));
  const uses = new Map(activity?.map(use => [use.id, use]));
  return accounts.map(account => ({
    ...account,
    cost_usd: cost_of.get(account.id) ?? '0',
    nearest: nearest.get(account.id),
    active_keys: activity && (uses.get(account.id)?.active_keys ?? 0) + configuredKeys(account),
    last_used_ms: uses.get(account.id)?.last_used_ms,
  }));
}

/** The own limit of each account of which the most is used, of those on the calendar, which the ledger knows. */
async function nearestLimits(
  { clock, settings, records }: ExtensionContext,
  accounts: readonly AccountView[],
  seesMoney: boolean,
): Promise<ReadonlyMap<string, NonNullable<ListedAccount['nearest']>>> {
  const now_ms = clock.epoch_ms();
  const sinceOf = (limit: Limit) => (neverResets(limit) ? 0 : periodsOf(limit).around(now_ms).start_ms);
  const limited = accounts.map(account => {
    const limits = limitsOf(settings, { ...account, parents: [] });
    const known =
      typeof limits === 'string' ? [] : limits.filter(limit => windowOf(limit).kind === 'calendar');
    return { id: account.id, limits: known.filter(({ name }) => seesMoney || !isMoneyLimit(name)) };
  });
  const times = [...new Set(limited.flatMap(({ limits }) => limits.map(sinceOf)))].sort((a, b) => a - b);
  const ids = limited.filter(({ limits }) => limits.length > 0).map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const { accounts: tree, usage } = records.store;
  // What those below an account use counts under its limits.
  const below = Map.groupBy(await tree.below(ids), ({ above }) => above);
  const membersOf = (id: string) => [id, ...(below.get(id) ?? []).map(member => member.id)];
  const sums = await usage.budgets([...new Set(ids.flatMap(membersOf))], times);
  const ofAccount = Map.groupBy(sums, ({ owner }) => owner);
  const found = limited.flatMap(({ id, limits }) => {
    const shares = limits.map(limit => {
      const ofTree = membersOf(id).flatMap(member => ofAccount.get(member) ?? []);
      const used = usedSince(ofTree, limit, times.indexOf(sinceOf(limit)), times[0] === 0);
      return { limit, share: used / limit.max };
    });
    const nearest = shares.toSorted((a, b) => b.share - a.share)[0];
    return nearest ? [[id, nearest] as const] : [];
  });
  return new Map(found);
}

/** What counts under a limit since the time at place `since`; what was ever used has the first place if that is asked for. */
function usedSince(sums: readonly BudgetSum[], limit: Limit, since: number, hasEver: boolean): number {
  const { unit } = rowOf(limit);
  const isMeant = (sum: BudgetSum) =>
    sum.model === (limit.model ?? '*') && (hasEver && since === 0 ? sum.since === 0 : sum.since >= since);
  return sums.filter(isMeant).reduce((used, sum) => used + (unit === 'leases' ? 0 : sum[unit]), 0);
}
