/** A bounded map; what was put in first is forgotten first. Long keys are not kept. */
export class AnswerCache<T> {
  readonly #entries = new Map<string, T>();
  readonly #max_entries: number;
  readonly #max_key_chars: number;

  constructor(max_entries = 512, max_key_chars = 16_384) {
    this.#max_entries = max_entries;
    this.#max_key_chars = max_key_chars;
  }

  /** The value of the key, made and kept if it is not there; what `make` throws is thrown and not kept. */
  get(key: string, make: () => T): T {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const made = make();
    if (key.length > this.#max_key_chars) return made;
    const oldest = this.#entries.size < this.#max_entries ? undefined : this.#entries.keys().next().value;
    if (oldest !== undefined) this.#entries.delete(oldest);
    this.#entries.set(key, made);
    return made;
  }
}
