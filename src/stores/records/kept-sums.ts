import { type Connection, rowMarks } from './database.ts';

const rows_per_statement = 1000;

/** Sums by key, gathered in memory to be added to a table that keeps them. */
export class KeptSums<K extends readonly (string | number)[], S extends Record<string, number | bigint>> {
  readonly #zero: S;
  readonly #byName = new Map<string, { readonly key: K; readonly sum: S }>();

  constructor(zero: S) {
    this.#zero = zero;
  }

  /** The sum of `key`, zero at first. */
  of(key: K): S {
    const name = key.join('\n');
    let found = this.#byName.get(name);
    if (!found) this.#byName.set(name, (found = { key, sum: { ...this.#zero } }));
    return found.sum;
  }

  values(): Iterable<{ readonly key: K; readonly sum: S }> {
    return this.#byName.values();
  }

  /** Adds them to the rows of `table` with these keys, in one order at every instance, so that none deadlock. */
  async addTo(connection: Connection, table: string, keys: readonly string[]): Promise<void> {
    const columns = Object.keys(this.#zero);
    const ordered = [...this.#byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, kept]) => kept);
    for (let at = 0; at < ordered.length; at += rows_per_statement) {
      const rows = ordered.slice(at, at + rows_per_statement);
      await connection.run(
        `INSERT INTO ${table} (${[...keys, ...columns].join(', ')})
        VALUES ${rowMarks(rows.length, keys.length + columns.length)}
        ON CONFLICT (${keys.join(', ')}) DO UPDATE SET
        ${columns.map(name => `${name} = ${table}.${name} + excluded.${name}`).join(', ')}`,
        rows.flatMap(({ key, sum }) => [...key, ...Object.values(sum)]),
      );
    }
  }
}
