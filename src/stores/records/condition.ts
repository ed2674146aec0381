import { containing, type Value } from './database.ts';

/** A WHERE clause that grows: only what was asked for is in it. */
export class Condition {
  readonly values: Value[] = [];
  readonly #terms: string[] = [];

  /** Adds `term`, unless one of its values is not asked for. */
  and(term: string, ...values: readonly (Value | undefined)[]): this {
    if (values.includes(undefined)) return this;
    this.#terms.push(term);
    this.values.push(...(values as readonly Value[]));
    return this;
  }

  /** Adds that the column `search` contains `text`, in any case; nothing without a text. */
  containing(text: string | undefined): this {
    return this.and("search LIKE ? ESCAPE '!'", text ? containing(text) : undefined);
  }

  get sql(): string {
    return this.#terms.length === 0 ? '' : `WHERE ${this.#terms.join(' AND ')}`;
  }
}
