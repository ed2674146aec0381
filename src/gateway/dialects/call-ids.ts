/** Ids of the calls of one reply. Some servers give none, or one id to several calls, which clients take for the same call. */
export class CallIds {
  readonly #another: (given: string, count: number) => string;
  readonly #given = new Set<string>();
  #count = 0;

  /** `another` makes an id in place of one that cannot stay; `count` is how many it has made, this one included. */
  constructor(another: (given: string, count: number) => string) {
    this.#another = another;
  }

  /** The upstream's id, or another one if it is empty or taken. */
  unique(given: string): string {
    let id = given;
    while (id === '' || this.#given.has(id)) id = this.#another(given, ++this.#count);
    this.#given.add(id);
    return id;
  }
}
