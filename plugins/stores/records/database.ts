/** What a statement takes and gives. Integers come back as numbers, or as bigints where a number would round. */
export type Value = string | number | bigint | null;

export type Row = Readonly<Record<string, Value>>;

/** Runs statements in the SQL that SQLite and Postgres have in common, with `?` for each value and tables in the schema `sluice`. */
export interface Connection {
  /** The rows that the statement returns, if it returns any. */
  run<R extends object = Row>(sql: string, values?: readonly Value[]): Promise<R[]>;
}

/** A database of records; outside of a transaction it may be read only. Rejects with StoreUnavailable when it is down, busy or slow, and with RecordRefused for values that it never takes. */
export interface Database extends Connection {
  /** Does all of `work` or nothing. Writing transactions run one after the other wherever they could conflict. */
  transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** The same for work that may take hours, such as a migration: no time limit for statements, and minutes of waiting for its turn. */
  longTransaction<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** Ends connections and threads. Idempotent. */
  close(): Promise<void>;
}

/** The records store does not answer, or not now; the same may succeed later. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** Whether `thrown` says that the store cannot be used now; anything else, such as a refusal, is its answer. */
export const isOutage = (thrown: unknown): boolean => thrown instanceof StoreUnavailable;

/** The database's own code for an outage: SQLSTATE, a system error or SQLite's number; undefined for anything else. */
export const databaseCode = (thrown: unknown): string | number | undefined =>
  isOutage(thrown) ? ((thrown as Error).cause as { code?: string | number } | undefined)?.code : undefined;

/** The records store refuses these values, and will every time: a constraint, or a value that it cannot hold. */
export class RecordRefused extends Error {
  override readonly name = 'RecordRefused';
}

/** `(?, ?), (?, ?)`: the values of several rows in one statement. */
export function rowMarks(rows: number, columns: number): string {
  const marks = `(${Array(columns).fill('?').join(', ')})`;
  return Array(rows).fill(marks).join(', ');
}

/** Values in one statement: fewer than any database takes, which is 32,766 in SQLite and 65,535 in Postgres. */
const max_values = 30_000;

/** Inserts rows, which all have the columns of the first, in as few statements as take them. `end` ends each, as in `RETURNING id`. */
export async function insertRows<R extends object = Row>(
  connection: Connection,
  table: string,
  rows: readonly Row[],
  end = '',
): Promise<R[]> {
  const columns = Object.keys(rows[0]!);
  const rows_per_statement = Math.floor(max_values / columns.length);
  const returned: R[] = [];
  for (let at = 0; at < rows.length; at += rows_per_statement) {
    const some = rows.slice(at, at + rows_per_statement);
    const marks = rowMarks(some.length, columns.length);
    const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${marks} ${end}`;
    for (const row of await connection.run<R>(
      sql,
      some.flatMap(row => Object.values(row)),
    ))
      returned.push(row);
  }
  return returned;
}

/** Inserts the rows of those `items` whose ids are not in the table, and returns these items. */
export async function insertOnce<T extends { readonly id: string }>(
  connection: Connection,
  table: string,
  items: readonly T[],
  rowOf: (item: T) => Row,
): Promise<T[]> {
  if (items.length === 0) return [];
  const end = 'ON CONFLICT (id) DO NOTHING RETURNING id';
  const inserted = await insertRows<{ id: string }>(connection, table, items.map(rowOf), end);
  const isNew = new Set(inserted.map(({ id }) => id));
  return items.filter(({ id }) => isNew.delete(id));
}

/** The text by which a row is found, for its column `search`. */
export const searchable = (...texts: readonly string[]): string => texts.join('\n').toLowerCase();

/** A WHERE clause of the terms whose values are given. */
export class Condition {
  readonly values: Value[] = [];
  readonly #terms: string[] = [];

  /** Adds `term`, unless one of its values is undefined. */
  and(term: string, ...values: readonly (Value | undefined)[]): this {
    if (values.includes(undefined)) return this;
    this.#terms.push(term);
    this.values.push(...(values as readonly Value[]));
    return this;
  }

  /** Adds that the column `search` contains `text` in any case, whatever characters it has; nothing without a text. */
  containing(text: string | undefined): this {
    const pattern = text && `%${text.toLowerCase().replace(/[!%_]/g, '!$&')}%`;
    return this.and("search LIKE ? ESCAPE '!'", pattern || undefined);
  }

  get sql(): string {
    return this.#terms.length === 0 ? '' : `WHERE ${this.#terms.join(' AND ')}`;
  }
}
