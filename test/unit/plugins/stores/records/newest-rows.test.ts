import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ledgerRecords } from '../../../../../plugins/stores/records/ledger-records.ts';
import { migrate } from '../../../../../plugins/stores/records/migrate.ts';
import { NewestRows } from '../../../../../plugins/stores/records/newest-rows.ts';
import { usageRecords } from '../../../../../plugins/stores/records/usage-records.ts';
import type { Connection, Database } from '../../../../../src/records/database.ts';
import { sqliteInMemory } from '../../../../../src/records/sqlite/sqlite.ts';
import { sampleRow, sampleRows } from '../../../src/mount/ledger/sample-row.ts';

const kept = 30;

/** Tables of the statements that insert. */
let inserted: string[];
let database: Database;
/** Whether a transaction is refused at its end. */
let isRefused: boolean;
let ledger: ReturnType<typeof ledgerRecords>;

const watched = (connection: Connection): Connection => ({
  ...connection,
  insert(table, rows, end) {
    inserted.push(table.replace('sluice.', ''));
    return connection.insert(table, rows, end);
  },
});

beforeEach(async () => {
  inserted = [];
  isRefused = false;
  const own = sqliteInMemory();
  const watching: Database = {
    ...own,
    transaction: work =>
      own.transaction(async connection => {
        const done = await work(watched(connection));
        if (isRefused) throw new Error('the disk is full');
        return done;
      }),
  };
  const newest = new NewestRows(watching, kept);
  database = { ...watching, settle: () => newest.write() };
  await migrate(database, false, 0, {});
  ledger = ledgerRecords(database, newest);
});
afterEach(() => database.close());

const list = () => ledger.list({ limit: 1000 });
const requests = async () => (await usageRecords(database).sum({ by: [] }))[0]?.requests ?? 0;

describe('rows of a ledger in memory', () => {
  it('are added to the sums at once, and written when they are asked for', async () => {
    expect(await ledger.insert(sampleRows(10))).toBe(10);
    expect(await requests()).toBe(10);
    expect(inserted).toContain('daily_sums');
    expect(inserted).not.toContain('ledger');
    expect(await list()).toHaveLength(10);
    expect(inserted.filter(table => table === 'ledger')).toHaveLength(1);
    inserted = [];
    expect(await list()).toHaveLength(10);
    expect(inserted).toEqual([]);
  });

  it('are the newest ones, with their attempts, however many came between two questions', async () => {
    const all = Array.from({ length: 4 * kept }, (_, at) => sampleRow({ started_ms: 1_000_000 + at }));
    const last = sampleRow({ request_id: 'req_last' });
    await ledger.insert(all.slice(0, 25));
    await list();
    for (let at = 25; at < all.length; at += 5) await ledger.insert(all.slice(at, at + 5));
    await ledger.insert([last]);
    expect(await ledger.insert([last])).toBe(0);
    const ids = [...all, last].slice(-kept).map(({ id }) => id);
    expect((await list()).map(({ id }) => id).sort()).toEqual(ids.sort());
    expect(await ledger.find('req_last')).toEqual([last]);
    expect(await requests()).toBe(4 * kept + 1);
    const [{ attempts }] = (await database.run<{ attempts: number }>(
      'SELECT COUNT(*) AS attempts FROM sluice.attempts',
    )) as [{ attempts: number }];
    expect(attempts).toBe(kept);
  });

  it('are there again after they could not be written', async () => {
    await ledger.insert(sampleRows(5));
    isRefused = true;
    await expect(list()).rejects.toThrow('the disk is full');
    isRefused = false;
    expect(await list()).toHaveLength(5);
  });

  it('count once when they are sent twice, before and after they were asked for', async () => {
    const rows = sampleRows(5);
    expect(await ledger.insert([...rows, ...rows])).toBe(5);
    expect(await ledger.insert(rows)).toBe(0);
    expect(await list()).toHaveLength(5);
    expect(await ledger.insert(rows)).toBe(0);
    expect(await requests()).toBe(5);
    expect(await list()).toHaveLength(5);
  });

  it('are not kept when their sums are refused, so that they can be sent again', async () => {
    const rows = sampleRows(3);
    await expect(ledger.insert([...rows, sampleRow({ cost_usd: '99999999999' })])).rejects.toThrow();
    expect(await list()).toEqual([]);
    expect(await ledger.insert(rows)).toBe(3);
    expect(await requests()).toBe(3);
  });

  it('do not hide others when the tables cannot hold one', async () => {
    const bad = sampleRow({ request_id: null as unknown as string });
    await ledger.insert([...sampleRows(2), bad, ...sampleRows(2)]);
    expect(await list()).toHaveLength(4);
    expect(await requests()).toBe(5);
    expect(await list()).toHaveLength(4);
    const found = await ledger.find(sampleRow().request_id);
    expect(found.map(({ attempts_made }) => attempts_made.length)).toEqual([1, 1, 1, 1]);
  });
});
