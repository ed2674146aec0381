/** What a statement takes and gives. Integers come back as numbers, or as bigints where a number would round. */
export type Value = string | number | bigint | null;

export type Row = Readonly<Record<string, Value>>;

/** Runs statements in the SQL that SQLite and Postgres have in common, with `?` for each value. */
export interface Connection {
  /** The rows that the statement returns, if it returns any. */
  run<R extends object = Row>(sql: string, values?: readonly Value[]): Promise<R[]>;
}

/**
 * One of the databases that records are kept in. Rejects with StoreUnavailable when it is out, busy or slow, and with RecordRefused
 * when it will never take what it was given.
 */
export interface Database extends Connection {
  /** All that `work` does, or nothing. Writing transactions run one after the other wherever they could disturb each other. */
  transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** The same for work that may take hours, as a migration does: its statements have no limit of time, and it waits minutes for its turn. */
  longTransaction<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** Ends connections and threads. Idempotent. */
  close(): Promise<void>;
}

/** What is read from a database and written to it. */
export abstract class DatabaseRecords {
  protected readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }
}

/** The records store does not answer, or not now; the same may succeed later. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** Whether `thrown` says that the store cannot be used now; anything else, such as a refusal, is its answer. */
export const isOutage = (thrown: unknown): boolean => thrown instanceof StoreUnavailable;

/** The records store refuses these values, and will every time: a constraint, or a value that it cannot hold. */
export class RecordRefused extends Error {
  override readonly name = 'RecordRefused';
}

/** `(?, ?), (?, ?)`: the values of several rows in one statement. */
export function rowMarks(rows: number, columns: number): string {
  const marks = `(${Array(columns).fill('?').join(', ')})`;
  return Array(rows).fill(marks).join(', ');
}

/** Inserts a row of these columns. `end` ends the statement, as in `RETURNING id`. */
export function insertRow<R extends object = Row>(
  connection: Connection,
  table: string,
  row: Row,
  end = '',
): Promise<R[]> {
  const columns = Object.keys(row);
  const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${rowMarks(1, columns.length)} ${end}`;
  return connection.run<R>(sql, Object.values(row));
}

/** What a row is found by, for its column `search`. */
export const searchable = (...texts: readonly string[]): string => texts.join('\n').toLowerCase();

/** `%text%` for LIKE with `ESCAPE '!'` on a column of `searchable` text: finds `text` as it is, whatever characters it has. */
export function containing(text: string): string {
  return `%${text.toLowerCase().replace(/[!%_]/g, '!$&')}%`;
}
