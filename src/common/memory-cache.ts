/** Characters counted for an entry beside its text. */
const entry_characters = 100;

interface Entry {
  readonly text: string;
  readonly expires_ms: number;
}

/** An LRU cache of texts in this process. Bounded by characters, where LRU libraries bound entries. */
export class MemoryCache {
  readonly #max_characters: number;
  readonly #now: () => number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>();
  /** Goes on where it has stopped: one that began anew would step over all that was deleted before. What is used again stands behind. */
  #order = this.#entries.entries();
  /** Where `#order` is. */
  #oldest: readonly [string, Entry] | undefined;
  #characters = 0;

  /** `max_characters` counts a hundred for every entry beside its text. */
  constructor(max_characters: number, now: () => number = () => performance.now()) {
    this.#max_characters = max_characters;
    this.#now = now;
  }

  /** Size of the cache, counted as in `max_characters`. */
  get characters(): number {
    return this.#characters;
  }

  get(key: string): string | undefined {
    this.#evict();
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.delete(key);
    if (this.#isExpired(entry)) return undefined;
    this.#add(key, { ...entry });
    return entry.text;
  }

  /** A text that is larger than the whole cache is not stored. */
  set(key: string, text: string, ttl_ms: number): void {
    this.delete(key);
    if (sizeOf(text) > this.#max_characters) return;
    this.#add(key, { text, expires_ms: this.#now() + ttl_ms });
    this.#evict();
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#characters -= sizeOf(entry.text);
  }

  #add(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
    this.#characters += sizeOf(entry.text);
  }

  #evict(): void {
    while (this.#entries.size > 0) {
      const [key, entry] = (this.#oldest ??= this.#next());
      if (this.#entries.get(key) === entry) {
        if (this.#characters <= this.#max_characters && !this.#isExpired(entry)) return;
        this.delete(key);
      }
      this.#oldest = undefined;
    }
  }

  #next(): readonly [string, Entry] {
    const { value, done } = this.#order.next();
    if (!done) return value;
    this.#order = this.#entries.entries();
    return this.#order.next().value!;
  }

  #isExpired({ expires_ms }: Entry): boolean {
    return this.#now() > expires_ms;
  }
}

const sizeOf = (text: string): number => text.length + entry_characters;
