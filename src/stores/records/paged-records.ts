import type { Condition } from './condition.ts';
import { DatabaseRecords } from './database.ts';

export interface PageQuery {
  readonly id?: string;
  /** A part of what the record is found by, in any case. */
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

/** Records that are found by their ids, listed in pages and counted. */
export abstract class PagedRecords<
  R extends object,
  Q extends PageQuery,
  S extends object = R,
> extends DatabaseRecords {
  protected abstract readonly table: PagedTable<R, S, Q>;

  async find(id: string): Promise<R | undefined> {
    const [found] = await this.list({ id, limit: 1 } as Q);
    return found;
  }

  /** A page of records in the order of their ids; that of keys begins with the newest. */
  async list(query: Q): Promise<R[]> {
    const { name, columns, order, recordOf, conditionOf } = this.table;
    const where = conditionOf(query).and(`id ${order === 'ASC' ? '>' : '<'} ?`, query.after);
    const rows = await this.database.run<S>(
      `SELECT ${columns} FROM ${name} ${where.sql} ORDER BY id ${order} LIMIT ?`,
      [...where.values, query.limit],
    );
    return rows.map(recordOf);
  }

  /** How many records all pages together have. */
  async count(query: Partial<Q> = {}): Promise<number> {
    const { name, conditionOf } = this.table;
    const { sql, values } = conditionOf(query);
    const [row] = await this.database.run<{ count: number }>(
      `SELECT COUNT(*) AS count FROM ${name} ${sql}`,
      values,
    );
    return row!.count;
  }
}
