/**
 * The entries that were used last, of which there are never more than a bound. Kept in two generations: when the younger is full it
 * becomes the older one, and what nobody has asked for since then is forgotten. Looking up costs one or two map lookups and no list.
 */
export class RecentCache<V> {
  readonly #half: number;
  #young = new Map<string, V>();
  #old = new Map<string, V>();

  constructor(max_entries: number) {
    this.#half = Math.ceil(max_entries / 2);
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old === undefined) return undefined;
    this.#old.delete(key);
    this.set(key, old);
    return old;
  }

  set(key: string, value: V): void {
    if (this.#young.size >= this.#half && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#old.delete(key);
    this.#young.set(key, value);
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  /** Forgets all that `isGone` says. */
  sweep(isGone: (value: V) => boolean): void {
    for (const generation of [this.#young, this.#old]) {
      for (const [key, value] of generation) if (isGone(value)) generation.delete(key);
    }
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }
}
