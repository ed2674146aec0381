import { type Connection, rowMarks } from './database.ts';

/** The tables of sums, with the columns of their keys. */
export const sumKeys = {
  daily_sums: ['model', 'day', 'account'],
  monthly_sums: ['month', 'account'],
  refusal_sums: ['day', 'account', 'key_id', 'model', 'status', 'error_type', 'end_reason'],
} as const;

type Key = readonly (string | number)[];
type Counts = Readonly<Record<string, number | bigint>>;

const rows_per_statement = 1000;

/** Sums by key, added up in memory and then added to the rows of a table. */
export class KeptSums<K extends Key = Key> {
  readonly #byName = new Map<string, { readonly key: K; readonly sum: Record<string, number | bigint> }>();

  add(key: K, counts: Counts): void {
    const name = key.join('\n');
    const known = this.#byName.get(name);
    if (!known) this.#byName.set(name, { key, sum: { ...counts } });
    // A column has numbers only, or bigints only.
    else for (const column in counts) (known.sum[column] as number) += counts[column] as number;
  }

  values(): Iterable<{ readonly key: K; readonly sum: Counts }> {
    return this.#byName.values();
  }

  /** Adds them to the rows of `table` with these keys, in one order at every instance, so that none deadlock. */
  async write(connection: Connection, table: keyof typeof sumKeys): Promise<void> {
    const keys = sumKeys[table];
    const ordered = [...this.#byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, kept]) => kept);
    const columns = Object.keys(ordered[0]?.sum ?? {});
    for (let at = 0; at < ordered.length; at += rows_per_statement) {
      const rows = ordered.slice(at, at + rows_per_statement);
      await connection.run(
        `INSERT INTO ${table} (${[...keys, ...columns].join(', ')})
        VALUES ${rowMarks(rows.length, keys.length + columns.length)}
        ON CONFLICT (${keys.join(', ')}) DO UPDATE SET
        ${columns.map(name => `${name} = ${table}.${name} + excluded.${name}`).join(', ')}`,
        rows.flatMap(({ key, sum }) => [...key, ...columns.map(name => sum[name]!)]),
      );
    }
  }
}
