import { type Connection, type Database, databaseCode, type Pruned } from '../../../src/store-plugin.ts';
import { attachmentOf, creationOf, type Month, monthAt, monthlyTables, monthsFrom } from './months.ts';
import { isFirst } from './pruning-lock.ts';

/** How long the table of a month waits until nobody uses the ledger; those who come meanwhile wait behind it. */
const lock_ms = 500;
/** Rows that are moved, or counted, at most. */
const max_rows = 10_000;
/** SQLSTATEs: a lock that others hold for too long, a right that the role does not have. */
const lock_not_available = '55P03';
const insufficient_privilege = '42501';

/** The tables of the ledger's months in Postgres: see months.ts. One instance at a time creates and deletes them. */
export const ledgerMonths = (database: Database) => ({
  /**
   * Creates the tables of this month and the next ones that are not there yet, with those of their rows that were among the others. A month
   * of which many rows are there stays without one. Rejects with StoreUnavailable also when the role may not create tables.
   */
  async prepare(now_ms: number): Promise<void> {
    const months = await monthsIn(database);
    const newest_ms = Math.max(...months.filter(({ isPast }) => isPast).map(({ end_ms }) => end_ms));
    const there = new Set(months.map(({ end_ms }) => end_ms));
    const missing = monthsFrom(now_ms).filter(({ end_ms }) => end_ms > newest_ms && !there.has(end_ms));
    for (const month of missing) await locked(database, connection => create(connection, month));
  },

  /** Deletes the oldest month that had ended by then, and returns about how many rows it had; undefined if there is none, or none may be deleted. */
  async deleteOldest(before_ms: number): Promise<Pruned | undefined> {
    const [oldest] = (await monthsIn(database)).filter(({ end_ms }) => end_ms <= before_ms);
    if (!oldest) return undefined;
    try {
      return await locked(database, async connection => {
        const rows = await rowsOf(connection, oldest.suffix);
        const names = monthlyTables.map(({ table }) => `sluice.${table}_${oldest.suffix}`);
        await connection.run(`DROP TABLE IF EXISTS ${names.join(', ')}`);
        return rows;
      });
    } catch (thrown) {
      if (databaseCode(thrown) === lock_not_available) return 'taken';
      if (databaseCode(thrown) === insufficient_privilege) return undefined;
      throw thrown;
    }
  },
});

export type LedgerMonths = ReturnType<typeof ledgerMonths>;

/** Whose tables are there, oldest first. */
async function monthsIn(connection: Connection) {
  const tables = await connection.run<{ name: string }>(
    "SELECT relname AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'sluice.ledger'::regclass",
  );
  const months = tables.flatMap(({ name }) => {
    const [, suffix, to, year, month] = /^ledger_((to_)?(\d{4})_(\d\d))$/.exec(name) ?? [];
    if (suffix === undefined) return [];
    const { end_ms } = monthAt(Date.UTC(Number(year), Number(month) - 1));
    return [{ suffix, end_ms, isPast: to !== undefined }];
  });
  return months.sort((a, b) => a.end_ms - b.end_ms);
}

/** Does `work` unless another instance is at work. */
const locked = <T>(database: Database, work: (connection: Connection) => Promise<T>): Promise<T | 'taken'> =>
  database.transaction(async connection => {
    if (!(await isFirst(connection))) return 'taken';
    await connection.run(`SET LOCAL lock_timeout = ${lock_ms}`);
    return work(connection);
  });

/** Writing and reading the ledger go on meanwhile, but for the rows that have no month. */
async function create(connection: Connection, month: Month): Promise<void> {
  const { suffix, first_id, end_id } = month;
  await connection.run('LOCK TABLE sluice.ledger_others, sluice.attempts_others IN ACCESS EXCLUSIVE MODE');
  const [found] = await connection.run<{ name: string | null }>(
    `SELECT to_regclass('sluice.ledger_${suffix}')::text AS name`,
  );
  const many = await connection.run(
    'SELECT 1 FROM sluice.ledger_others WHERE id >= ? AND id < ? OFFSET ? LIMIT 1',
    [first_id, end_id, max_rows],
  );
  if (found!.name !== null || many.length > 0) return;
  for (const { table, key } of monthlyTables) {
    await connection.run(creationOf(table, month));
    await connection.run(
      `WITH early AS (DELETE FROM sluice.${table}_others WHERE ${key} >= ? AND ${key} < ? RETURNING *)
      INSERT INTO sluice.${table}_${suffix} SELECT * FROM early`,
      [first_id, end_id],
    );
    await connection.run(attachmentOf(table, month));
  }
}

/** About as many as are in the month's table; counting all would take long. */
async function rowsOf(connection: Connection, suffix: string): Promise<number> {
  const [counted] = await connection.run<{ rows: number; estimate: number }>(
    `SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM sluice.ledger_${suffix} LIMIT ${max_rows}) AS first) AS rows,
    reltuples::bigint AS estimate FROM pg_class WHERE oid = 'sluice.ledger_${suffix}'::regclass`,
  );
  const { rows, estimate } = counted!;
  return rows < max_rows ? rows : Math.max(rows, estimate);
}
