/** A seeded random generator: the same seed gives the same draws (mulberry32). */
export class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** From 0 up to but not including 1. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** From `low` to `high`, both included. */
  integer(low: number, high: number): number {
    return low + Math.floor(this.fraction() * (high - low + 1));
  }

  chance(share: number): boolean {
    return this.fraction() < share;
  }

  one<T>(list: readonly T[]): T {
    return list[this.integer(0, list.length - 1)]!;
  }

  /** One of the list, more often the more it weighs. */
  weighted<T extends { readonly weight: number }>(list: readonly T[]): T {
    let left = this.fraction() * list.reduce((sum, { weight }) => sum + weight, 0);
    return list.find(({ weight }) => (left -= weight) < 0) ?? list[0]!;
  }
}
