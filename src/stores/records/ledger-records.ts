import { setImmediate } from 'node:timers/promises';
import { picoUsd, usdOf } from '../../money.ts';
import { Condition, type Connection, type Database, insertOnce, type Row } from './database.ts';
import { isBatch, isRow, type LedgerEntry, type LedgerRow, rowSchema } from './ledger-entry.ts';
import { countOnce, rollUp } from './roll-up.ts';

export interface LedgerQuery {
  readonly account?: string;
  readonly from_ms?: number;
  /** Exclusive. */
  readonly until_ms?: number;
  /** The last row of the page before. */
  readonly after?: Pick<LedgerRow, 'started_ms' | 'id'>;
  readonly limit: number;
}

type StoredRow = Omit<LedgerRow, 'estimated' | 'cost_usd'> & { estimated: number; cost_pico_usd: number };

/** Named as the fields of a row; the cost is stored as an integer. */
const columns = [...rowSchema.keyof().exclude(['cost_usd']).options, 'cost_pico_usd'] as const;

const rows_per_step = 50;

/**
 * The ledger: every settled exchange of an account that asked an upstream, and what all add up to. Keeps only the newest
 * `kept_rows`, if given; the sums of all stay.
 */
export const ledgerRecords = (database: Database, kept_rows?: number) => ({
  /** Writes what is not there yet and adds it to the sums, all or none. Returns how many rows were new. */
  async insert(entries: readonly LedgerEntry[]): Promise<number> {
    if (entries.length === 0) return 0;
    const rows = entries.filter(isRow);
    return database.transaction(async connection => {
      await rollUp(connection, [], await countOnce(connection, entries.filter(isBatch)));
      return kept_rows === undefined
        ? insertRows(connection, rows)
        : insertNewest(connection, rows, kept_rows);
    });
  },

  /** A page of rows, newest first. */
  async list({ account, from_ms, until_ms, after, limit }: LedgerQuery): Promise<LedgerRow[]> {
    const where = new Condition()
      .and('account = ?', account)
      .and('started_ms >= ?', from_ms)
      .and('started_ms < ?', until_ms)
      .and('(started_ms, id) < (?, ?)', after?.started_ms, after?.id);
    const rows = await database.run<StoredRow>(
      `SELECT ${columns.join(', ')} FROM sluice.ledger ${where.sql} ORDER BY started_ms DESC, id DESC LIMIT ?`,
      [...where.values, limit],
    );
    return rows.map(({ estimated, cost_pico_usd, ...row }) => ({
      ...row,
      estimated: estimated === 1,
      cost_usd: usdOf(BigInt(cost_pico_usd)),
    }));
  },
});

export type LedgerRecords = ReturnType<typeof ledgerRecords>;

async function insertRows(connection: Connection, rows: readonly LedgerRow[]): Promise<number> {
  const written = await insertOnce(connection, 'sluice.ledger', rows, storedRow);
  await rollUp(connection, written, []);
  return written.length;
}

/** Only adds to the sums what would be deleted again at once. Small steps: in memory nothing else runs meanwhile. */
async function insertNewest(
  connection: Connection,
  rows: readonly LedgerRow[],
  kept: number,
): Promise<number> {
  const passing = rows.slice(0, -kept);
  await rollUp(connection, passing, []);
  let inserted = passing.length;
  for (let at = passing.length; at < rows.length; at += rows_per_step) {
    inserted += await insertRows(connection, rows.slice(at, at + rows_per_step));
    await setImmediate();
  }
  await connection.run(
    `DELETE FROM sluice.ledger WHERE (started_ms, id) <=
    (SELECT started_ms, id FROM sluice.ledger ORDER BY started_ms DESC, id DESC LIMIT 1 OFFSET ?)`,
    [kept],
  );
  return inserted;
}

function storedRow({ estimated, cost_usd, ...row }: LedgerRow): Row {
  const stored = { ...row, estimated: estimated ? 1 : 0, cost_pico_usd: picoUsd(cost_usd) };
  // A row that waited on disk may be of an earlier version, with fewer columns.
  return Object.fromEntries(columns.map(name => [name, stored[name] ?? null]));
}
