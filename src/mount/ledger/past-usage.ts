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
  readonly usage: Pick<UsageRecords, 'budgets' | 'budgetsOfKeys'>;
  /** Where rows of the ledger wait, if they do so on disk. */
  readonly disk: DiskQueue | undefined;
  readonly clock: Clock;
}

/** Each takes a millisecond with sums of a month in SQLite, where the ledger waits for it. */
const owners_per_query = 25;

/**
 * Use of the present day and month by the ledger: its sums, and its rows that wait on disk. One indexed query for all accounts, or keys, that
 * ask meanwhile, when their first request comes: of a million accounts only those that come are read.
 */
export function pastUsage({ usage, disk, clock }: PastUsageSetup): PastUseSource {
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
      return owners.map(owner => pastUse(calendarDayOf(now_ms), byOwner.get(owner) ?? []));
    }, owners_per_query);
  const accounts = lookUps('account', usage.budgets);
  const keys = lookUps('key_id', usage.budgetsOfKeys);
  return {
    find: account => accounts.find(account),
    findKey: key => keys.find(key),
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
