import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Connection, Database } from '../../../../../plugins/stores/records/database.ts';
import { ledgerRecords } from '../../../../../plugins/stores/records/ledger-records.ts';
import { migrate } from '../../../../../plugins/stores/records/migrate.ts';
import { NewestRows } from '../../../../../plugins/stores/records/newest-rows.ts';
import { usageRecords } from '../../../../../plugins/stores/records/usage-records.ts';
import { sqliteInMemory } from '../../../../../plugins/stores/sqlite/sqlite.ts';
import { sampleRow, sampleRows } from '../../../src/mount/ledger/sample-row.ts';

const kept = 30;

/** Tables of the statements that insert. */
let inserted: string[];
let newest: NewestRows;
let ledger: ReturnType<typeof ledgerRecords>;

const watched = (connection: Connection): Connection => ({
  run: (sql, values) => {
    const table = /^INSERT INTO sluice\.(\w+)/.exec(sql)?.[1];
    if (table) inserted.push(table);
    return connection.run(sql, values);
  },
});

beforeEach(async () => {
  inserted = [];
  const database = sqliteInMemory();
  const watching: Database = {
    ...database,
    transaction: work => database.transaction(connection => work(watched(connection))),
  };
  newest = new NewestRows(watching, kept);
  await migrate(newest.database, false, 0, {});
  ledger = ledgerRecords(newest.database, newest);
});
afterEach(() => newest.database.close());

const list = () => ledger.list({ limit: 1000 });
const requests = async () => (await usageRecords(newest.database).sum({ by: [] }))[0]?.requests ?? 0;

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
    const [{ attempts }] = (await newest.database.run<{ attempts: number }>(
      'SELECT COUNT(*) AS attempts FROM sluice.attempts',
    )) as [{ attempts: number }];
    expect(attempts).toBe(kept);
  });

  it('are found within a transaction as well', async () => {
    await ledger.insert(sampleRows(5));
    const count = await newest.database.transaction(connection =>
      connection.run('SELECT COUNT(*) AS rows FROM sluice.ledger'),
    );
    expect(count).toEqual([{ rows: 5 }]);
  });

  it('are there again after a transaction that saw them was rolled back', async () => {
    await ledger.insert(sampleRows(5));
    const rolledBack = newest.database.transaction(async connection => {
      await connection.run('SELECT id FROM sluice.ledger');
      throw new Error('enough');
    });
    await expect(rolledBack).rejects.toThrow('enough');
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
