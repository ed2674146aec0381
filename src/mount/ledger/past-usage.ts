import { dayOf } from '../../common/calendar-day.ts';
import type { Clock } from '../../common/clock.ts';
import { type Limit, rowOf } from '../../gateway/limits/limit-table.ts';
import type { BudgetSum, UsageRecords } from '../../records/usage-records.ts';
import { all_models } from '../../records/usage-records.ts';
import { BatchedLookups } from '../records/batched-lookups.ts';
import { type CalendarDay, calendarDayOf } from '../state/counters/calendar.ts';
import type { PastUse } from '../state/counters/counters.ts';
import type { PastUseSource } from '../state/past-restorer.ts';
import type { DiskQueue } from './disk-queue.ts';

export interface PastUsageSetup {
  /** The accounts below some, each with the one that is above it. */
  below(accounts: readonly string[]): Promise<readonly { readonly id: string; readonly above: string }[]>;
  readonly usage: Pick<UsageRecords, 'budgets' | 'budgetsOfKeys'>;
  /** Where rows of the ledger wait, if they do so on disk. */
  readonly disk: DiskQueue | undefined;
  readonly clock: Clock;
}

/** Each takes a millisecond with sums of a month in SQLite, where the ledger waits for it. */
const owners_per_query = 25;
/** Of a large tree, so that others are looked up meanwhile. */
const members_at_once = 250;

/**
 * Use of the present day and month by the ledger: its sums, and its rows that wait on disk. One indexed query for all accounts, or keys, that
 * ask meanwhile, when their first request comes: of a million accounts only those that come are read.
 */
export function pastUsage({ below, usage, disk, clock }: PastUsageSetup): PastUseSource {
  const lookUps = (by: 'account' | 'key_id', stored: UsageRecords['budgets']) =>
    new BatchedLookups(async owners => {
      const now_ms = clock.epoch_ms();
      const today = dayOf(now_ms);
      const read = async () => {
        const waiting = disk?.exists ? await disk.budgets(by, owners, today) : [];
        return [...waiting, ...(await stored(owners, today))];
      };
      // A row that is moved meanwhile would be counted twice, or not at all.
      const byOwner = Map.groupBy(await (disk ? disk.undisturbed(read) : read()), ({ owner }) => owner);
      return owners.map(owner => ({ day: calendarDayOf(now_ms), sums: byOwner.get(owner) ?? [] }));
    }, owners_per_query);
  const accounts = lookUps('account', usage.budgets);
  const keys = lookUps('key_id', usage.budgetsOfKeys);
  const trees = new BatchedLookups(async owners => {
    const byOwner = Map.groupBy(await below(owners), ({ above }) => above);
    return owners.map(owner => [...new Set([owner, ...(byOwner.get(owner) ?? []).map(({ id }) => id)])]);
  }, owners_per_query);
  return {
    find: async account => {
      const members = await trees.find(account);
      const found: Awaited<ReturnType<typeof accounts.find>>[] = [];
      for (let at = 0; at < members.length; at += members_at_once)
        found.push(
          ...(await Promise.all(members.slice(at, at + members_at_once).map(id => accounts.find(id)))),
        );
      return pastUse(
        found[0]!.day,
        found.flatMap(({ sums }) => sums),
      );
    },
    findKey: async key => {
      const { day, sums } = await keys.find(key);
      return pastUse(day, sums);
    },
  };
}

function pastUse({ day, month }: CalendarDay, sums: readonly BudgetSum[]): PastUse {
  const of = (limit: Limit): number => {
    const { unit, window } = rowOf(limit);
    if (unit === 'leases') return 0;
    return sums
      .filter(
        ({ model, is_today }) =>
          model === (limit.model ?? all_models) && (window === 'month' || is_today === 1),
      )
      .reduce((used, sum) => used + sum[unit], 0);
  };
  return { day, month, of };
}
