import { setImmediate } from 'node:timers/promises';
import type { LedgerRow } from '../../../src/gateway/settlement/ledger-entry.ts';
import { type Connection, type Database, StoreUnavailable } from './database.ts';
import { insertNew, type UnwrittenRows } from './ledger-records.ts';

/** Few: while they are written nothing else runs. */
const rows_per_step = 20;

/** Any statement about the rows of the ledger, but one that adds some. */
const asksForRows = /^(?!INSERT).*\bsluice\.(ledger|attempts)\b/s;

/**
 * The newest rows of a ledger in memory. They are written to the tables when a statement of `database` names these. Most are never asked
 * for, and to write and delete a row takes several times as long as to add it to the sums.
 */
export class NewestRows implements UnwrittenRows {
  readonly database: Database;
  readonly #kept: number;
  /** In the order in which they came, up to twice as many as are kept. */
  #unwritten: LedgerRow[] = [];
  /** Of the newest rows, written or not. */
  #ids = new Set<string>();

  /** Keeps the last `kept` rows. From now on `database` is used through this only. */
  constructor(database: Database, kept: number) {
    this.#kept = kept;
    this.database = {
      run: (sql, values) =>
        asksForRows.test(sql)
          ? database.transaction(this.#over(connection => connection.run(sql, values)))
          : database.run(sql, values),
      transaction: work => database.transaction(this.#over(work)),
      longTransaction: work => database.longTransaction(this.#over(work)),
      close: () => database.close(),
    };
  }

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

  /** The same work of a transaction, whose statements find all rows in the tables. */
  #over<T>(work: (connection: Connection) => Promise<T>): (connection: Connection) => Promise<T> {
    return async connection => {
      const before = this.#unwritten;
      try {
        return await work({
          run: async (sql, values) => {
            if (asksForRows.test(sql)) await this.#write(connection);
            return connection.run(sql, values);
          },
        });
      } catch (thrown) {
        // What was written is rolled back.
        this.#unwritten = before;
        throw thrown;
      }
    };
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
