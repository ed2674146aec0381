import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type Limit, periodsOf } from '../../../../../src/gateway/limits/limit-table.ts';
import { DiskQueue } from '../../../../../src/mount/ledger/disk-queue.ts';
import { pastUsage } from '../../../../../src/mount/ledger/past-usage.ts';
import type { PastUse } from '../../../../../src/mount/state/counters/counters.ts';
import { MemoryStateStore } from '../../../../../src/mount/state/counters/memory-state-store.ts';
import { RestoredStateStore } from '../../../../../src/mount/state/restored-state-store.ts';
import type { UsageRecords } from '../../../../../src/records/usage-records.ts';
import { FakeClock, noon_ms } from '../../../../support/fake-clock.ts';
import { limit } from '../../../../support/state-store-contract.ts';
import { LedgerSetting } from './ledger-setting.ts';
import { sampleRow } from './sample-row.ts';

let setting: LedgerSetting;
let disk: DiskQueue;
beforeEach(async () => {
  setting = await LedgerSetting.open();
  disk = new DiskQueue(setting.queuePath, 1000);
});
afterEach(async () => {
  await disk.close();
  await setting.close();
});

const day_ms = 86_400_000;
const tokens = 13;
/** Rows of 13 tokens each, of these days before today and models. */
const rowsOf = (...of: readonly (readonly [ago: number, model: string])[]) =>
  of.map(([ago, model]) =>
    sampleRow({
      started_ms: noon_ms - ago * day_ms,
      account: 'acme',
      key_id: 'key_1',
      model,
      prompt_tokens: 10,
      completion_tokens: 3,
      cost_usd: '0.000000001',
    }),
  );
const below = async () => [];
const perDay = limit('tokens_per_day', 1000);
const perMonth = limit('usd_per_month', 1000);
const limits = [perDay, perMonth];
const startOf = (limit: Limit) => periodsOf(limit).around(noon_ms).start_ms;
const usedOf = ({ of }: PastUse, asked: readonly Limit[]) => asked.map(limit => of(limit, startOf(limit)));

it('is what the ledger has and what waits on disk, by day, month, model and key', async () => {
  const { usage, ledger } = setting.store;
  const past = pastUsage({ below, usage, disk, clock: new FakeClock() });
  await ledger.insert(rowsOf([0, 'v/one'], [1, 'v/one'], [40, 'v/one']));
  await disk.append(rowsOf([0, 'v/one'], [0, 'v/two'], [2, 'v/one']));
  const [use, ofKey, none] = await Promise.all([
    past.find({ account: 'acme' }, limits),
    past.find({ account: 'acme', key: 'key_1' }, limits),
    past.find({ account: 'nobody' }, limits),
  ]);
  const ofModel = { ...perDay, model: 'v/one' };
  expect(usedOf(use, [perDay, ofModel, perMonth])).toEqual([3 * tokens, 2 * tokens, 5]);
  expect(usedOf(ofKey, limits)).toEqual([3 * tokens, 5]);
  expect(usedOf(none, limits)).toEqual([0, 0]);
  expect(use.of(perDay, startOf(perDay) - day_ms)).toBeUndefined();
});

it('is that of an account and of all below it', async () => {
  const { usage, ledger } = setting.store;
  const tree = [
    { id: 'acme', above: 'org' },
    { id: 'acme', above: 'org' },
    { id: 'other', above: 'org' },
    { id: 'other', above: 'acme' },
  ];
  const past = pastUsage({
    below: async ids => tree.filter(({ above }) => ids.includes(above)),
    ...{ usage, disk, clock: new FakeClock() },
  });
  await ledger.insert([...rowsOf([0, 'v/one']), ...rowsOf([1, 'v/two'])]);
  await disk.append(rowsOf([0, 'v/one']).map(row => ({ ...row, account: 'other' })));
  const uses = await Promise.all(
    ['org', 'acme', 'other'].map(id => past.find({ account: 'org', member: id }, limits)),
  );
  expect(uses.map(use => usedOf(use, limits))).toEqual([
    [2 * tokens, 3],
    [2 * tokens, 3],
    [tokens, 1],
  ]);
});

it('begins the counters of a process after a restart, in every zone and in total', async () => {
  const { usage, ledger } = setting.store;
  // Noon in UTC is 17:30 in Kolkata and 21:00 in Tokyo; an hour before midnight there is another day.
  const at = (time: string) => ({
    ...rowsOf([0, 'v/one'])[0]!,
    id: randomUUID(),
    started_ms: Date.parse(time),
  });
  const times = ['2025-01-01T00:00Z', '2026-11-14T18:00Z', '2026-11-20T14:30Z', '2026-11-20T15:30Z'];
  await ledger.insert([...times, '2026-11-20T19:30Z'].map(at));
  await disk.append([at('2026-11-21T01:00Z')]);
  const budgets: Limit[] = [
    { ...limit('tokens_per_day', 100), time_zone: 'Asia/Tokyo' },
    { ...limit('tokens_per_day', 100), time_zone: 'Asia/Kolkata' },
    { ...limit('tokens_per_week', 100), time_zone: 'Asia/Kolkata', start_day: 7 },
    limit('tokens_total', 100),
  ];
  const clock = new FakeClock();
  const past = pastUsage({ below, usage, disk, clock });
  const store = new RestoredStateStore(new MemoryStateStore(clock), { past, clock, log: { warn() {} } });
  const statuses = await store.statuses('acme', budgets);
  expect(statuses.map(({ remaining }) => (100 - remaining) / tokens)).toEqual([3, 2, 5, 6]);
});

it('counts a row once that is moved from the disk to the ledger meanwhile', async () => {
  const { usage, ledger } = setting.store;
  const rows = rowsOf([0, 'v/one']);
  await disk.append(rows);
  const reading = Promise.withResolvers<void>();
  const move = Promise.withResolvers<void>();
  const budgets: UsageRecords['budgets'] = async (owners, since) => {
    reading.resolve();
    await move.promise;
    return usage.budgets(owners, since);
  };
  const found = pastUsage({ below, usage: { ...usage, budgets }, disk, clock: new FakeClock() }).find(
    { account: 'acme' },
    [perDay],
  );
  await reading.promise;
  let isMoving = false;
  const moved = disk.undisturbed(async () => {
    isMoving = true;
    await ledger.insert(rows);
    await disk.remove(rows);
  });
  await disk.first(1);
  expect(isMoving).toBe(false);
  move.resolve();
  expect(usedOf(await found, [perDay])).toEqual([tokens]);
  await moved;
});
