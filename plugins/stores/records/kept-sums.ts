import type { Connection } from '../../../src/store-plugin.ts';

type Key = Readonly<Record<string, string | number>>;
/** Columns that are added up. */
export type Counts = Readonly<Record<string, number | bigint>>;

const rows_per_statement = 1000;

/** Sums by key, added up in memory and then added to the rows of a table. */
export class KeptSums {
  readonly #byName = new Map<string, { readonly key: Key; readonly sum: Record<string, number | bigint> }>();

  add(key: Key, counts: Counts): void {
    const name = Object.values(key).join('\n');
    const known = this.#byName.get(name);
    if (!known) this.#byName.set(name, { key, sum: { ...counts } });
    // A column has numbers only, or bigints only.
    else for (const column in counts) (known.sum[column] as number) += counts[column] as number;
  }

  /** Adds them to the rows of `table` with these keys, in one order at every instance, so that none deadlock. */
  async write(connection: Connection, table: string): Promise<void> {
    const ordered = [...this.#byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, kept]) => kept);
    const { key = {}, sum = {} } = ordered[0] ?? {};
    const end = `ON CONFLICT (${Object.keys(key).join(', ')}) DO UPDATE SET
      ${Object.keys(sum)
        .map(name => `${name} = ${table}.${name} + excluded.${name}`)
        .join(', ')}`;
    const rows = ordered.map(kept => ({ ...kept.key, ...kept.sum }));
    for (let at = 0; at < rows.length; at += rows_per_statement)
      await connection.insert(table, rows.slice(at, at + rows_per_statement), end);
  }
}
