import type { Condition, Database } from './database.ts';

export interface PageQuery {
  readonly id?: string;
  /** A part of the text by which the record is found, in any case. */
  readonly search?: string | undefined;
  /** The id of the last record of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** A table of records with ids, `S` as stored and `R` as read. */
export interface PagedTable<R, S, Q> {
  readonly name: string;
  readonly columns: string;
  readonly order: 'ASC' | 'DESC';
  recordOf(row: S): R;
  conditionOf(query: Partial<Q>): Condition;
}

/** Reads records by their ids, in pages, and counts them. */
export function pagedRecords<R extends object, Q extends PageQuery, S extends object>(
  database: Database,
  { name, columns, order, recordOf, conditionOf }: PagedTable<R, S, Q>,
) {
  /** A page of records in the order of their ids. */
  const list = async (query: Q): Promise<R[]> => {
    const where = conditionOf(query).and(`id ${order === 'ASC' ? '>' : '<'} ?`, query.after);
    const sql = `SELECT ${columns} FROM ${name} ${where.sql} ORDER BY id ${order} LIMIT ?`;
    const rows = await database.run<S>(sql, [...where.values, query.limit]);
    return rows.map(recordOf);
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
