import { Condition } from './condition.ts';
import type { Connection, Database, Value } from './database.ts';
import { timeOrderedUuid } from './ids.ts';
import { monthOf } from './usage-slices.ts';

/** Any number, the same in every version, and another one than that of migrations. */
const lock = 0x736c75696366;

const keysOf = {
  ledger: ['id'],
  refusal_sums: ['day', 'account', 'key_id', 'model', 'status', 'error_type', 'end_reason'],
  monthly_sums: ['month', 'account'],
  daily_sums: ['model', 'day', 'account'],
  counted_batches: ['id'],
} as const;

/** Rows that one step deleted; `taken` while another instance prunes. */
export type Pruned = number | 'taken';

/**
 * Deletes what is old, a few rows in each transaction, so that nothing waits for it: every step is to be called again until it deletes fewer
 * than it may. With Postgres one instance at a time does so.
 */
export class Pruning {
  readonly #database: Database;
  readonly #isPostgres: boolean;

  constructor(database: Database, isPostgres: boolean) {
    this.#database = database;
    this.#isPostgres = isPostgres;
  }

  /** Rows of exchanges that began before; their sums stay. */
  rows(before_ms: number, limit: number): Promise<Pruned> {
    return this.#prune('ledger', new Condition().and('started_ms < ?', before_ms), 'started_ms, id', limit);
  }

  /** Sums of the months that had ended by then. */
  async sums(before_ms: number, limit: number): Promise<Pruned> {
    const month = monthOf(before_ms);
    const ofMonths = () => new Condition().and('month < ?', month);
    const monthly = await this.#prune('monthly_sums', ofMonths(), 'month, account', limit);
    if (monthly !== 0) return monthly;
    const ofDays = () => new Condition().and('day < ?', `${month}-01`);
    const refusals = await this.#prune('refusal_sums', ofDays(), 'day', limit);
    if (refusals !== 0) return refusals;
    // By models, whose days lie in order.
    for (let model = await this.#modelAfter(); model !== null; model = await this.#modelAfter(model)) {
      const ofModel = ofDays().and('model = ?', model);
      const daily = await this.#prune('daily_sums', ofModel, 'day, account', limit);
      if (daily !== 0) return daily;
    }
    return 0;
  }

  /** The ids of batches of refusals that came before; none of them is sent again so late. */
  batches(before_ms: number, limit: number): Promise<Pruned> {
    const first = timeOrderedUuid(before_ms).slice(0, 13);
    return this.#prune('counted_batches', new Condition().and('id < ?', first), 'id', limit);
  }

  async #modelAfter(model?: string): Promise<string | null> {
    const where = new Condition().and('model > ?', model);
    const [next] = await this.#database.run<{ model: string | null }>(
      `SELECT MIN(model) AS model FROM daily_sums ${where.sql}`,
      where.values,
    );
    return next?.model ?? null;
  }

  #prune(table: keyof typeof keysOf, where: Condition, order: string, limit: number): Promise<Pruned> {
    const keys = keysOf[table].join(', ');
    const values: Value[] = [...where.values, limit];
    return this.#database.transaction(async connection => {
      if (this.#isPostgres && !(await isFirst(connection))) return 'taken';
      const deleted = await connection.run(
        `DELETE FROM ${table} WHERE (${keys}) IN
        (SELECT ${keys} FROM ${table} ${where.sql} ORDER BY ${order} LIMIT ?) RETURNING 1 AS deleted`,
        values,
      );
      return deleted.length;
    });
  }
}

async function isFirst(connection: Connection): Promise<boolean> {
  const [row] = await connection.run<{ taken: boolean }>(
    `SELECT pg_try_advisory_xact_lock(${lock}) AS taken`,
  );
  return row!.taken;
}
