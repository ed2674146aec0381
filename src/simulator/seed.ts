/** 32-bit hash of the text (FNV-1a with a final mix): the seed of all generated values of a request. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mix(hash);
}

/** A seed that differs from `seed` for every `salt`. */
export function saltSeed(seed: number, salt: number): number {
  return mix(seed ^ Math.imul(salt + 1, 0x9e3779b1));
}

/** Deterministic random numbers. */
export class Dice {
  readonly #seed: number;
  #rolls = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** A number in [0, 1). */
  roll(): number {
    return saltSeed(this.#seed, this.#rolls++) / 2 ** 32;
  }

  /** An integer in [min, max]. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.roll() * (max - min + 1));
  }

  /** One of the list, which must not be empty. */
  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.roll() * list.length)] as T;
  }
}

function mix(value: number): number {
  let hash = value | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
