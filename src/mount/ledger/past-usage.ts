import type { CalendarPeriods } from '../../common/calendar-periods.ts';
import type { Clock } from '../../common/clock.ts';
import { isCalendar, type Limit, periodKey, periodsOf, rowOf } from '../../gateway/limits/limit-table.ts';
import { all_models, type BudgetSum, type UsageRecords } from '../../records/usage-records.ts';
import { BatchedLookups } from '../records/batched-lookups.ts';
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

/** Sums of an owner since some times. */
interface Sums {
  readonly since_ms: readonly number[];
  readonly sums: readonly BudgetSum[];
}
type LookUps = Record<'account' | 'key_id', BatchedLookups<Sums>>;

/**
 * Use of the present periods by the ledger: its sums, and its rows that wait on disk. One indexed query for all accounts, or keys, that ask
 * meanwhile for the same periods, when their first request comes: of a million accounts only those that come are read.
 */
export function pastUsage({ below, usage, disk, clock }: PastUsageSetup): PastUseSource {
  const lookUp = (by: keyof LookUps, calendars: readonly CalendarPeriods[]) =>
    new BatchedLookups<Sums>(async owners => {
      const now_ms = clock.epoch_ms();
      const starts = new Set(calendars.map(periods => periods.around(now_ms).start_ms));
      const since_ms = [...starts].toSorted((a, b) => a - b);
      const read = async () => {
        const waiting = disk?.exists ? await disk.budgets(by, owners, since_ms) : [];
        const stored = by === 'account' ? usage.budgets : usage.budgetsOfKeys;
        return [...waiting, ...(await stored(owners, since_ms))];
      };
      // A row that is moved meanwhile would be counted twice, or not at all.
      const byOwner = Map.groupBy(await (disk ? disk.undisturbed(read) : read()), ({ owner }) => owner);
      return owners.map(owner => ({ since_ms, sums: byOwner.get(owner) ?? [] }));
    }, owners_per_query);
  /** By the periods that are asked for, of which there are as many as plans and accounts name. */
  const known = new Map<string, LookUps>();
  const lookUpsOf = (limits: readonly Limit[]): LookUps => {
    const byKey = new Map(limits.filter(isCalendar).map(limit => [periodKey(limit), periodsOf(limit)]));
    const name = [...byKey.keys()].toSorted().join(' ');
    const calendars = [...byKey.values()];
    let found = known.get(name);
    if (!found) {
      found = { account: lookUp('account', calendars), key_id: lookUp('key_id', calendars) };
      known.set(name, found);
    }
    return found;
  };
  const trees = new BatchedLookups(async owners => {
    const byOwner = Map.groupBy(await below(owners), ({ above }) => above);
    return owners.map(owner => [...new Set([owner, ...(byOwner.get(owner) ?? []).map(({ id }) => id)])]);
  }, owners_per_query);
  return {
    find: async ({ account, member = account, key }, limits) => {
      const lookUps = lookUpsOf(limits);
      if (key !== undefined) return pastUse([await lookUps.key_id.find(key)]);
      const members = await trees.find(member);
      const found: Sums[] = [];
      for (let at = 0; at < members.length; at += members_at_once) {
        const some = members.slice(at, at + members_at_once);
        found.push(...(await Promise.all(some.map(id => lookUps.account.find(id)))));
      }
      return pastUse(found);
    },
  };
}

/** Those of a period that has ended while they were read count no longer. */
function pastUse(found: readonly Sums[]): PastUse {
  const of = (limit: Limit, start_ms: number): number | undefined => {
    const { unit } = rowOf(limit);
    if (unit === 'leases' || !found.every(({ since_ms }) => since_ms.includes(start_ms))) return undefined;
    const isSince = (place: number, { since }: BudgetSum) => (start_ms === 0 ? since === 0 : since >= place);
    return found
      .flatMap(({ since_ms, sums }) => sums.filter(sum => isSince(since_ms.indexOf(start_ms), sum)))
      .filter(({ model }) => model === (limit.model ?? all_models))
      .reduce((used, sum) => used + sum[unit], 0);
  };
  return { of };
}
