import type { Connection, Row, Value } from '../../../src/store-plugin.ts';

/** Inserts the rows of those `items` whose ids are not in the table, and returns these items. */
export async function insertOnce<T extends { readonly id: string }>(
  connection: Connection,
  table: string,
  items: readonly T[],
  rowOf: (item: T) => Row,
): Promise<T[]> {
  if (items.length === 0) return [];
  const end = 'ON CONFLICT (id) DO NOTHING RETURNING id';
  const inserted = await connection.insert<{ id: string }>(table, items.map(rowOf), end);
  const isNew = new Set(inserted.map(({ id }) => id));
  return items.filter(({ id }) => isNew.delete(id));
}

/** The text by which a row is found, for its column `search`. */
export const searchable = (...texts: readonly string[]): string => texts.join('\n').toLowerCase();

/** What `LIKE ? ESCAPE '!'` takes for texts in lower case that contain `text`; undefined without one. */
export const containing = (text: string | undefined): string | undefined =>
  text ? `%${text.toLowerCase().replace(/[!%_]/g, '!$&')}%` : undefined;

/** SQL for a key that can be used; takes the present time. */
export const usableKey = 'revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > ?)';

/** A WHERE clause of the terms whose values are given. */
export class Condition {
  readonly values: Value[] = [];
  readonly #terms: string[] = [];

  /** Adds `term`, unless one of its values is undefined. */
  and(term: string, ...values: readonly (Value | undefined)[]): this {
    if (values.includes(undefined)) return this;
    this.#terms.push(term);
    this.values.push(...(values as readonly Value[]));
    return this;
  }

  /** Adds that the column `search` contains `text` in any case, whatever characters it has; nothing without a text. */
  containing(text: string | undefined): this {
    return this.and("search LIKE ? ESCAPE '!'", containing(text));
  }

  get sql(): string {
    return this.#terms.length === 0 ? '' : `WHERE ${this.#terms.join(' AND ')}`;
  }
}
