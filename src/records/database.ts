/** What a statement takes and gives. Integers come back as numbers, or as bigints where a number would round. */
export type Value = string | number | bigint | null;

/** A row, by the names of its columns. */
export type Row = Readonly<Record<string, Value>>;

/** Runs statements in the SQL that SQLite and Postgres have in common, with `?` for each value and tables in the schema `sluice`. */
export interface Connection {
  /** The rows that the statement returns, if it returns any. */
  run<R extends object = Row>(sql: string, values?: readonly Value[]): Promise<R[]>;
  /** Inserts rows, which all have the columns of the first, and returns what `end` says, as in `RETURNING id`. All or none. */
  insert<R extends object = Row>(table: string, rows: readonly Row[], end?: string): Promise<R[]>;
}

/** A database of records; outside of a transaction it may be read only. Rejects with StoreUnavailable when it is down, busy or slow, and with RecordRefused for values that it never takes. */
export interface Database extends Connection {
  /** Does all of `work` or nothing. Writing transactions run one after the other wherever they could conflict. */
  transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** The same for work that may take hours, such as a migration: no time limit for statements, and minutes of waiting for its turn. */
  longTransaction<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** Writes what is kept beside the tables for a while, where something is: before rows of the ledger are read. */
  settle?(): Promise<void>;
  /** Ends connections and threads. Idempotent. */
  close(): Promise<void>;
}

/** `(?, ?), (?, ?)`: the values of several rows in one statement. */
export function rowMarks(rows: number, columns: number): string {
  const marks = `(${Array(columns).fill('?').join(', ')})`;
  return Array(rows).fill(marks).join(', ');
}
