import type { Database, PageQuery } from '../../../src/store-plugin.ts';
import type { Condition } from './statements.ts';

/** An order of records: by `by`, SQL that is never NULL, then by id; by id alone without. */
export interface RecordOrder {
  readonly by?: string;
  readonly direction: 'ASC' | 'DESC';
}

/** A table of records with ids, `S` as stored and `R` as read. */
export interface PagedTable<R, S, Q> {
  readonly name: string;
  readonly columns: string;
  /** How a query is ordered. */
  orderOf(query: Q): RecordOrder;
  recordOf(row: S): R;
  conditionOf(query: Partial<Q>): Condition;
}

/** Reads records by their ids, in pages, and counts them. */
export function pagedRecords<R extends object, Q extends PageQuery, S extends object>(
  database: Database,
  { name, columns, orderOf, recordOf, conditionOf }: PagedTable<R, S, Q>,
) {
  /** A page of records in their order, found by the record before or behind it. */
  const list = async (query: Q): Promise<R[]> => {
    const { before, after, limit } = query;
    const { by, direction } = orderOf(query);
    const isAscending = (direction === 'ASC') === (before === undefined);
    const way = isAscending ? 'ASC' : 'DESC';
    const than = isAscending ? '>' : '<';
    const edge = before ?? after;
    const where = conditionOf(query);
    if (by === undefined) where.and(`id ${than} ?`, edge);
    // The first term says nothing new, but SQLite finds a place in an index by single columns only.
    else
      where
        .and(`${by} ${than}= (SELECT ${by} FROM ${name} WHERE id = ?)`, edge)
        .and(`(${by}, id) ${than} (SELECT ${by}, id FROM ${name} WHERE id = ?)`, edge);
    const sql = `SELECT ${columns} FROM ${name} ${where.sql} ORDER BY ${by ? `${by} ${way}, ` : ''}id ${way} LIMIT ?`;
    const rows = (await database.run<S>(sql, [...where.values, limit])).map(recordOf);
    return before === undefined ? rows : rows.reverse();
  };
  return {
    list,
    find: async (id: string): Promise<R | undefined> => (await list({ id, limit: 1 } as Q))[0],
    /** How many records all pages together have. */
    count: async (query: Partial<Q> = {}): Promise<number> => {
      const { sql, values } = conditionOf(query);
      const counted = `SELECT COUNT(*) AS count FROM ${name} ${sql}`;
      const [row] = await database.run<{ count: number }>(counted, values);
      return row!.count;
    },
  };
}
