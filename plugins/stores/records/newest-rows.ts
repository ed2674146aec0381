import { setImmediate } from 'node:timers/promises';
import {
  type Connection,
  type Database,
  type LedgerRow,
  StoreUnavailable,
} from '../../../src/store-plugin.ts';
import { insertNew } from './insert-ledger-rows.ts';

/** Few: while they are written nothing else runs. */
const rows_per_step = 20;

/**
 * The newest rows of a ledger in memory, which are written to its tables before these are read. Most are never asked for, and to write and
 * delete a row takes several times as long as to add it to the sums.
 */
export class NewestRows {
  readonly #database: Database;
  readonly #kept: number;
  /** In the order in which they came, up to twice as many as are kept. */
  #unwritten: LedgerRow[] = [];
  /** Of the newest rows, written or not. */
  #ids = new Set<string>();

  /** Keeps the last `kept` rows. */
  constructor(database: Database, kept: number) {
    this.#database = database;
    this.#kept = kept;
  }

  /** Those of `rows` that have not been added. */
  newAmong(rows: readonly LedgerRow[]): readonly LedgerRow[] {
    const byId = new Map(rows.map(row => [row.id, row]));
    return [...byId.values()].filter(({ id }) => !this.#ids.has(id));
  }

  add(rows: readonly LedgerRow[]): void {
    for (const row of rows) {
      this.#unwritten.push(row);
      this.#ids.add(row.id);
    }
    const max = 2 * this.#kept;
    if (this.#unwritten.length > max) this.#unwritten = this.#unwritten.slice(-this.#kept);
    if (this.#ids.size > max) this.#ids = new Set([...this.#ids].slice(-this.#kept));
  }

  /** Writes all to the tables. */
  async write(): Promise<void> {
    if (this.#unwritten.length === 0) return;
    const before = this.#unwritten;
    await this.#database
      .transaction(connection => this.#write(connection))
      .catch(thrown => {
        // What was written is rolled back.
        this.#unwritten = before;
        throw thrown;
      });
  }

  async #write(connection: Connection): Promise<void> {
    const rows = this.#unwritten.slice(-this.#kept);
    if (rows.length === 0) return;
    for (let at = 0; at < rows.length; at += rows_per_step) {
      await insertAccepted(connection, rows.slice(at, at + rows_per_step));
      await setImmediate();
    }
    // Nothing is added meanwhile: transactions run one after the other.
    this.#unwritten = [];
    const oldest =
      '(SELECT started_ms, id FROM sluice.ledger ORDER BY started_ms DESC, id DESC LIMIT 1 OFFSET ?)';
    const old = `FROM sluice.ledger WHERE (started_ms, id) <= ${oldest}`;
    await connection.run(`DELETE FROM sluice.attempts WHERE ledger_id IN (SELECT id ${old})`, [this.#kept]);
    await connection.run(`DELETE ${old}`, [this.#kept]);
  }
}

/** Inserts rows, but those that the tables cannot hold: their sums are all that is left of them. */
async function insertAccepted(connection: Connection, rows: readonly LedgerRow[]): Promise<void> {
  await connection.run('SAVEPOINT rows_before');
  try {
    await insertNew(connection, rows);
  } catch (thrown) {
    if (thrown instanceof StoreUnavailable) throw thrown;
    await connection.run('ROLLBACK TO rows_before');
    if (rows.length > 1) for (const row of rows) await insertAccepted(connection, [row]);
  }
  await connection.run('RELEASE rows_before');
}
