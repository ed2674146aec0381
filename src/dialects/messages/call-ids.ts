/** Ids of the calls of one message. Some servers give none, or one id to several calls, which clients take for the same call. */
export class CallIds {
  readonly #key: string;
  readonly #given = new Set<string>();
  #count = 0;

  constructor(key: string) {
    this.#key = key;
  }

  /** The upstream's id, or another one if it is empty or taken. */
  unique(given: string): string {
    let id = given;
    while (id === '' || this.#given.has(id)) id = `toolu_${this.#key}_${++this.#count}`;
    this.#given.add(id);
    return id;
  }
}
