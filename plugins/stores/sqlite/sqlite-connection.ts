import { DatabaseSync, type StatementSync } from 'node:sqlite';
import QuickLRU from 'quick-lru';
import {
  databaseCode,
  RecordRefused,
  type Row,
  rowMarks,
  StoreUnavailable,
  type Value,
} from '../records/database.ts';
import { makePrivateFile } from './private-file.ts';

/** Prepared statements that are kept. */
const max_statements = 64;
/** Short, since it blocks the thread: `sqlite.ts` tries again while the database is locked. */
const busy_ms = 50;

/** SQLite's result codes for values that it will never take: TOOBIG, CONSTRAINT, MISMATCH, RANGE. */
const refusals = new Set([18, 19, 20, 25]);

/** SQLite's result code for a database that another process is writing to: BUSY. */
const busy = 5;

/** Why a statement failed. */
export interface SqliteFault {
  /** SQLite's result code; undefined for a value that Node cannot pass to SQLite. */
  readonly code?: number;
  readonly message: string;
}

/** The rows that a statement returns, or why it failed, in a form that can be sent between threads. */
export type SqliteAnswer = { readonly rows: readonly Row[] } | { readonly fault: SqliteFault };

/** One connection to a SQLite file or to a database in memory; every call blocks until it is done. */
export class SqliteConnection {
  readonly #database: DatabaseSync;
  readonly #statements = new QuickLRU<string, StatementSync>({ maxSize: max_statements });

  /** A commit returns when it is on the disk, so that it survives a loss of power. */
  constructor(path: string, readOnly = false) {
    if (path !== ':memory:') makePrivateFile(path);
    this.#database = new DatabaseSync(path, { readOnly, timeout: busy_ms });
    // A checkpoint every 16 MB of log, and a cache of 32 MB: a large ledger is written three times as fast.
    this.#database.exec('PRAGMA cache_size = -32768');
    if (!readOnly)
      this.#database.exec(
        'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000',
      );
  }

  /** Within a transaction, where rows are inserted: a statement that fails may have inserted some of them. */
  run(sql: string, values: readonly Value[] = []): SqliteAnswer {
    try {
      const { single, columns } = rowByRow(sql, values.length);
      const statement = this.#prepared(single);
      const rows: Row[] = [];
      let at = 0;
      do {
        for (const row of statement.all(...values.slice(at, at + columns))) rows.push(plainIntegers(row));
        at += columns;
      } while (at < values.length);
      return { rows };
    } catch (thrown) {
      return { fault: faultOf(thrown) };
    }
  }

  close(): void {
    this.#statements.clear();
    if (this.#database.isOpen) this.#database.close();
  }

  #prepared(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      // SQLite has no schemas: the file is one.
      statement = this.#database.prepare(sql.replaceAll('sluice.', ''));
      statement.setReadBigInts(true);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/**
 * A statement that inserts several rows, as one for a single row, and how many values that takes. Every number of rows would be a statement
 * of its own, which takes a megabyte for a few hundred rows and longer to prepare than to run.
 */
function rowByRow(sql: string, values: number): { readonly single: string; readonly columns: number } {
  const whole = { single: sql, columns: values };
  const before = sql.indexOf(row_start);
  if (before === -1) return whole;
  const from = before + row_start.length - 1;
  const row = sql.slice(from, sql.indexOf(')', from) + 1);
  const columns = row.split('?').length - 1;
  const rows = values / columns;
  if (rows <= 1 || !Number.isInteger(rows)) return whole;
  const marks = rowMarks(rows, columns);
  if (!sql.startsWith(marks, from)) return whole;
  return { single: sql.slice(0, from) + row + sql.slice(from + marks.length), columns };
}

const row_start = 'VALUES (';

/** Integers as numbers where they fit. */
function plainIntegers(row: Record<string, unknown>): Row {
  const plain: Record<string, Value> = {};
  for (const [name, value] of Object.entries(row)) {
    const isSmall = typeof value === 'bigint' && BigInt.asIntN(53, value) === value;
    plain[name] = isSmall ? Number(value) : (value as Value);
  }
  return plain;
}

export function faultOf(thrown: unknown): SqliteFault {
  const { errcode, message } = thrown as { errcode?: number; message: string };
  // The lowest byte of an extended code is the plain one.
  return errcode === undefined ? { message } : { code: errcode & 0xff, message };
}

/** Throws for a statement that failed: RecordRefused, or StoreUnavailable with the fault as its cause. */
export function rowsOf(answer: SqliteAnswer): readonly Row[] {
  if ('rows' in answer) return answer.rows;
  const { code, message } = answer.fault;
  if (code === undefined || refusals.has(code)) throw new RecordRefused(message);
  throw new StoreUnavailable(message, { cause: answer.fault });
}

/** Whether another process holds the lock, so that the same may succeed at once. */
export const isBusy = (thrown: unknown): boolean => databaseCode(thrown) === busy;
