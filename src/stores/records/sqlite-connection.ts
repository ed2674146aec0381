import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { RecordRefused, type Row, StoreUnavailable, type Value } from './database.ts';
import { makePrivateFile } from './private-file.ts';

/** Prepared statements that are kept; those of many rows differ by their number. */
const kept_statements = 64;
/** Short, since it blocks: a locked database is asked again by who wants it (`SqliteDatabase`). */
const busy_ms = 50;

/** SQLite's result codes for values that it will never take: TOOBIG, CONSTRAINT, MISMATCH, RANGE. */
const refusals = new Set([18, 19, 20, 25]);

/** SQLite's result code for a database that another process is writing to: BUSY. */
const busy = 5;

/** What SQLite said of a statement that failed. */
export interface SqliteFault {
  /** SQLite's result code; undefined for a value that Node cannot hand over. */
  readonly code?: number;
  readonly message: string;
}

/** One connection to a SQLite file or to a database in memory; every call blocks until it is done. */
export class SqliteConnection {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /** Committed means on the disk: what is written survives a loss of power. */
  constructor(path: string, readOnly = false) {
    if (path !== ':memory:') makePrivateFile(path);
    this.#database = new DatabaseSync(path, { readOnly, timeout: busy_ms });
    // With 16 MB of log before it is worked into the file, and 32 MB of pages, a large ledger is written three times as fast.
    this.#database.exec('PRAGMA cache_size = -32768');
    if (!readOnly)
      this.#database.exec(
        'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000',
      );
  }

  run(sql: string, values: readonly Value[] = []): Row[] {
    return this.#prepared(sql)
      .all(...values)
      .map(plainIntegers);
  }

  close(): void {
    this.#statements.clear();
    if (this.#database.isOpen) this.#database.close();
  }

  #prepared(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#database.prepare(sql);
    statement.setReadBigInts(true);
    if (this.#statements.size >= kept_statements)
      this.#statements.delete(this.#statements.keys().next().value!);
    this.#statements.set(sql, statement);
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
  // Extended codes carry the plain one in their lowest byte.
  return errcode === undefined ? { message } : { code: errcode & 0xff, message };
}

/** The error of a fault, which is its cause. */
export function errorOf(fault: SqliteFault): Error {
  const { code, message } = fault;
  const isRefused = code === undefined || refusals.has(code);
  return isRefused ? new RecordRefused(message) : new StoreUnavailable(message, { cause: fault });
}

/** Whether it failed for another process's lock, so that it may be tried again at once. */
export const isBusy = (thrown: unknown): boolean =>
  thrown instanceof StoreUnavailable && (thrown.cause as Partial<SqliteFault> | undefined)?.code === busy;
