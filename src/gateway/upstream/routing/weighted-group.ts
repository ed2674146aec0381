import type { Upstream } from './upstream.ts';

/** Upstreams of one priority. One is drawn by weight in a time that hardly depends on how many there are. */
export class WeightedGroup {
  readonly upstreams: readonly Upstream[];
  /** Of each upstream its weight and those of all before it. */
  readonly #sums: Float64Array;

  constructor(upstreams: readonly Upstream[]) {
    this.upstreams = upstreams;
    let sum = 0;
    this.#sums = Float64Array.from(upstreams, ({ control, weight }) => (sum += control?.weight ?? weight));
  }

  /** The upstream at a share of all weights, from 0 to less than 1. */
  drawn(share: number): Upstream {
    const at = share * this.#sums.at(-1)!;
    let [low, high] = [0, this.#sums.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#sums[middle]! > at) high = middle;
      else low = middle + 1;
    }
    return this.upstreams[low]!;
  }
}
