import { z } from 'zod';

/** The longest name that can be an alias: replies repeat it in every chunk. */
export const max_alias_characters = 256;

/** Schema of aliases: a name, or the beginning of names with a star, and the id of a model. */
export const aliasesSchema = z.record(
  z.string().regex(/^(?=.{1,256}$)[^*]*\*?$/s, 'must have 1 to 256 characters, and a star only at its end'),
  z.string().min(1).meta({ shown: true }),
);

/**
 * Models by other names. An exact name wins over beginnings of names, and a longer beginning over a shorter one. A look-up takes a time that
 * depends on the lengths of the beginnings, not on how many aliases there are.
 */
export class AliasTable {
  /** The exact names, in the order in which they were given. */
  readonly names: readonly string[];
  readonly #exact: ReadonlyMap<string, string>;
  readonly #beginnings: ReadonlyMap<string, string>;
  /** Lengths of the beginnings, longest first. */
  readonly #lengths: readonly number[];

  constructor(aliases: Readonly<Record<string, string>>) {
    const entries = Object.entries(aliases);
    const isExact = ([name]: readonly [string, string]) => !name.endsWith('*');
    this.#exact = new Map(entries.filter(isExact));
    this.#beginnings = new Map(
      entries.filter(entry => !isExact(entry)).map(([name, model]) => [name.slice(0, -1), model]),
    );
    this.names = [...this.#exact.keys()];
    this.#lengths = [...new Set([...this.#beginnings.keys()].map(({ length }) => length))].sort(
      (one, other) => other - one,
    );
  }

  /** The id of the model that `name` stands for; undefined if it is no alias, as every name of more than 256 characters. */
  find(name: string): string | undefined {
    if (name.length > max_alias_characters) return undefined;
    const exact = this.#exact.get(name);
    if (exact !== undefined) return exact;
    for (const length of this.#lengths) {
      const model = length <= name.length ? this.#beginnings.get(name.slice(0, length)) : undefined;
      if (model !== undefined) return model;
    }
    return undefined;
  }
}
