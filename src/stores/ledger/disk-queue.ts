import { existsSync } from 'node:fs';
import { rowMarks } from '../records/database.ts';
import type { LedgerRow } from '../records/ledger-records.ts';
import { SqliteDatabase } from '../records/sqlite.ts';

/**
 * Rows of the ledger that wait on disk while the records store is out: a SQLite file of its own, so that what was appended survives a
 * crash and a loss of power, several processes may share it, and a row is gone only when its removal is on the disk. The file is made
 * with the first row.
 */
export class DiskQueue {
  readonly #path: string;
  readonly #max_rows: number;
  #opening: Promise<SqliteDatabase> | undefined;
  /** What this process knows of; others may have put more there. */
  #rows = 0;

  constructor(path: string, max_rows: number) {
    this.#path = path;
    this.#max_rows = max_rows;
  }

  get rows(): number {
    return this.#rows;
  }

  /** Something may have been left here by an earlier process. */
  get exists(): boolean {
    return this.#opening !== undefined || existsSync(this.#path);
  }

  /** Puts rows at the end, once each, and returns how many of them there was room for, from the first on. */
  async append(rows: readonly LedgerRow[]): Promise<number> {
    const database = await this.#database();
    const taken = rows.slice(0, Math.max(0, this.#max_rows - this.#rows));
    if (taken.length === 0) return 0;
    const values = taken.flatMap(row => [row.id, JSON.stringify(row)]);
    const added = await database.transaction(connection =>
      connection.run(
        `INSERT INTO waiting (id, row) VALUES ${rowMarks(taken.length, 2)} ON CONFLICT (id) DO NOTHING RETURNING id`,
        values,
      ),
    );
    this.#rows += added.length;
    return taken.length;
  }

  /** The oldest rows, at most `limit`. */
  async first(limit: number): Promise<LedgerRow[]> {
    const database = await this.#database();
    const rows = await database.run<{ row: string }>('SELECT row FROM waiting ORDER BY id LIMIT ?', [limit]);
    return rows.map(({ row }) => JSON.parse(row) as LedgerRow);
  }

  async remove(rows: readonly LedgerRow[]): Promise<void> {
    const database = await this.#database();
    const removed = await database.transaction(connection =>
      connection.run(
        `DELETE FROM waiting WHERE id IN ${rowMarks(1, rows.length)} RETURNING id`,
        rows.map(({ id }) => id),
      ),
    );
    this.#rows = Math.max(0, this.#rows - removed.length);
  }

  async close(): Promise<void> {
    const database = await this.#opening?.catch(() => undefined);
    await database?.close();
  }

  /** Opens the file; one that could not be opened is tried again next time. */
  #database(): Promise<SqliteDatabase> {
    this.#opening ??= this.#open().catch(fault => {
      this.#opening = undefined;
      throw fault;
    });
    return this.#opening;
  }

  async #open(): Promise<SqliteDatabase> {
    const database = await SqliteDatabase.open(this.#path);
    const [count] = await database.transaction(async connection => {
      await connection.run('CREATE TABLE IF NOT EXISTS waiting (id TEXT PRIMARY KEY, row TEXT NOT NULL)');
      return connection.run<{ rows: number }>('SELECT COUNT(*) AS rows FROM waiting');
    });
    this.#rows = count!.rows;
    return database;
  }
}
