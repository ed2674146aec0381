import { existsSync, statSync } from 'node:fs';
import { timeOfUuid } from '../../common/ids.ts';
import type { LedgerEntry } from '../../gateway/settlement/ledger-entry.ts';
import { type Connection, rowMarks } from '../../records/database.ts';
import { openSqlite, type SqliteDatabase } from '../../records/sqlite/sqlite.ts';
import type { BudgetSum } from '../../records/usage-records.ts';
import { all_models } from '../../records/usage-records.ts';
import { isUnbilled } from './lost-rows.ts';

/** More than an empty queue has: a page of 4096 bytes for the schema, the table and each index. */
const empty_bytes = 32_768;

/** A field of the row in the column `row`. */
const of = (field: string): string => `json_extract(row, '$.${field}')`;

/**
 * Rows of the ledger that wait on disk while the records store is down: a SQLite file of its own, so that what was appended survives a
 * crash and a loss of power, several processes may share it, and a row is gone only when its removal is on the disk. The file is made
 * with the first row.
 */
export class DiskQueue {
  readonly path: string;
  /** How many rows are in the file, as last seen: other processes may share it. */
  rows = 0;
  /** Unix milliseconds at which the oldest row in the file was made, as last seen; `Infinity` if there is none. */
  oldest_ms = Number.POSITIVE_INFINITY;
  readonly #max_rows: number;
  #opening: Promise<SqliteDatabase> | undefined;
  /** The end of the last piece of work that must run alone. */
  #turn: Promise<unknown> = Promise.resolve();
  /** SQLite's number for what other processes have changed; what it was when the rows were counted. */
  #counted_version: number | undefined;

  constructor(path: string, max_rows: number) {
    this.path = path;
    this.#max_rows = max_rows;
  }

  /** The file is there, perhaps with rows of an earlier process. */
  get exists(): boolean {
    return this.#opening !== undefined || existsSync(this.path);
  }

  /** The file is larger than an empty queue needs. */
  get isSparse(): boolean {
    const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    return sizeOf(this.path) + sizeOf(`${this.path}-wal`) > empty_bytes;
  }

  /** Appends rows, once each, and returns those beyond `max_rows`. Half of the space is kept for billed rows. */
  async append(rows: readonly LedgerEntry[]): Promise<LedgerEntry[]> {
    const database = await this.#database();
    const refused: LedgerEntry[] = [];
    const added = await database.transaction(async connection => {
      await this.#recount(connection);
      let room = this.#max_rows - this.rows;
      const taken = rows.filter(row => {
        const hasRoom = room > (isUnbilled(row) ? this.#max_rows / 2 : 0);
        if (hasRoom) room--;
        else refused.push(row);
        return hasRoom;
      });
      if (taken.length === 0) return [];
      return connection.insert(
        'waiting',
        taken.map(row => ({ id: row.id, row: JSON.stringify(row) })),
        'ON CONFLICT (id) DO NOTHING RETURNING id',
      );
    });
    this.rows += added.length;
    if (added.length > 0) this.oldest_ms = Math.min(this.oldest_ms, timeOfUuid(rows[0]!.id));
    return refused;
  }

  /** The oldest rows, at most `limit`. */
  async first(limit: number): Promise<LedgerEntry[]> {
    const database = await this.#database();
    const rows = await database.run<{ row: string }>('SELECT row FROM waiting ORDER BY id LIMIT ?', [limit]);
    if (rows.length < limit) this.rows = rows.length;
    const entries = rows.map(({ row }) => JSON.parse(row) as LedgerEntry);
    this.oldest_ms = timeOfUuid(entries[0]?.id ?? '');
    return entries;
  }

  async remove(rows: readonly LedgerEntry[]): Promise<void> {
    const database = await this.#database();
    const removed = await database.transaction(connection =>
      connection.run(
        `DELETE FROM waiting WHERE id IN ${rowMarks(1, rows.length)} RETURNING id`,
        rows.map(({ id }) => id),
      ),
    );
    this.rows = Math.max(0, this.rows - removed.length);
    if (this.rows === 0) this.oldest_ms = Number.POSITIVE_INFINITY;
  }

  /** The sums of `budgets` over the rows of accounts, or of `budgetsOfKeys` over those of keys, that wait here, the cost of each row rounded up. */
  async budgets(
    by: 'account' | 'key_id',
    owners: readonly string[],
    since_ms: readonly number[],
  ): Promise<BudgetSum[]> {
    const database = await this.#database();
    const [first_ms, ...later] = since_ms;
    const cases = later.map(() => `WHEN ${of('started_ms')} < ? THEN`).map((test, at) => `${test} ${at}`);
    const byModel = await database.run<BudgetSum>(
      `SELECT ${of(by)} AS owner, COALESCE(${of('model')}, '') AS model,
      CASE ${cases.join(' ')} WHEN true THEN ${later.length} END AS since,
      SUM(CASE WHEN ${of('error_type')} IS NULL AND ${of('status')} < 400 THEN 1 ELSE 0 END) AS requests,
      SUM(${of('prompt_tokens')} + ${of('completion_tokens')}) AS tokens,
      SUM(CAST(ROUND(${of('cost_usd')} * 1e9 + 0.4999) AS INTEGER)) AS nano_usd
      FROM waiting WHERE ${of(by)} IN ${rowMarks(1, owners.length)} AND ${of('started_ms')} >= ?
      GROUP BY 1, 2, 3`,
      [...later, ...owners, first_ms!],
    );
    const sums = byModel.flatMap(sum => [sum, { ...sum, model: all_models }]);
    // Since 0 is at all times.
    const later_sums = first_ms === 0 ? sums.filter(({ since }) => since > 0) : [];
    return [...sums, ...later_sums.map(sum => ({ ...sum, since: 0 }))];
  }

  /** Runs `work` while no rows are moved from here to the store by this process. */
  undisturbed<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Gives the space of removed rows back to the disk. Rejects while another process uses the file. */
  async vacuum(): Promise<void> {
    const database = await this.#database();
    await database.vacuum();
  }

  async close(): Promise<void> {
    const database = await this.#opening?.catch(() => undefined);
    await database?.close();
  }

  /** Counts the rows again if another process has changed the file: the count of a long queue takes tens of milliseconds. */
  async #recount(connection: Connection): Promise<void> {
    const [version] = await connection.run<{ data_version: number }>('PRAGMA data_version');
    if (version!.data_version === this.#counted_version) return;
    const [count] = await connection.run<{ rows: number }>('SELECT COUNT(*) AS rows FROM waiting');
    this.rows = count!.rows;
    this.#counted_version = version!.data_version;
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
    const database = await openSqlite(this.path);
    try {
      await database.transaction(async connection => {
        await connection.run('CREATE TABLE IF NOT EXISTS waiting (id TEXT PRIMARY KEY, row TEXT NOT NULL)');
        await connection.run(`CREATE INDEX IF NOT EXISTS waiting_by_account ON waiting (${of('account')})`);
        await connection.run(`CREATE INDEX IF NOT EXISTS waiting_by_key ON waiting (${of('key_id')})`);
        await this.#recount(connection);
      });
      return database;
    } catch (fault) {
      await database.close();
      throw fault;
    }
  }
}
