import { DatabaseSync, type StatementSync } from 'node:sqlite';
import QuickLRU from 'quick-lru';
import type { Row, Value } from '../database.ts';
import { databaseCode, RecordRefused, StoreUnavailable } from '../record-errors.ts';
import { makePrivateFile } from './private-file.ts';

/** Prepared statements that are kept. */
const max_statements = 64;
/** Short, since it blocks the thread: `sqlite.ts` tries again while the database is locked. */
const busy_ms = 50;

/** SQLite's result codes for values that it will never take: TOOBIG, CONSTRAINT, MISMATCH, RANGE. */
const refusals = new Set([18, 19, 20, 25]);

/** SQLite's result code for a database that another process is writing to: BUSY. */
const busy = 5;

/** SQLite's result code for a connection that is closed: MISUSE. */
const misuse = 21;

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

  /** Runs a statement once for each of `times` equal parts of the values. One that fails may have done some of them. */
  run(sql: string, values: readonly Value[] = [], times = 1): SqliteAnswer {
    if (!this.#database.isOpen) return { fault: { code: misuse, message: 'it has been closed' } };
    try {
      const statement = this.#prepared(sql);
      const values_each = values.length / times;
      const rows: Row[] = [];
      for (let at = 0; at < times; at++)
        for (const row of statement.all(...values.slice(at * values_each, (at + 1) * values_each)))
          rows.push(plainIntegers(row));
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
      // SQLite has no schemas: the file is one. Texts stay as they are.
      const own = sql.replace(/'[^']*'|\bsluice\./g, found => (found === 'sluice.' ? '' : found));
      statement = this.#database.prepare(own);
      statement.setReadBigInts(true);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

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
