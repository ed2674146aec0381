import type { Chunk } from '../gateway/exchange/canonical.ts';

/** An upstream's stream under the control of a check. */
export class Source implements AsyncIterableIterator<Chunk> {
  /** True at its end, and once its reader has closed it. */
  closed = false;
  /** How often a chunk was asked for. */
  reads = 0;
  readonly #chunks: readonly Chunk[];
  readonly #before: (at: number) => void | Promise<void>;

  /** `before` is waited for before each chunk, and before the end, at the number of chunks; the stream fails with what it throws. */
  constructor(chunks: readonly Chunk[], before: (at: number) => void | Promise<void> = () => {}) {
    this.#chunks = chunks;
    this.#before = before;
  }

  async next(): Promise<IteratorResult<Chunk>> {
    const at = this.reads++;
    if (!this.closed) {
      try {
        const pause = this.#before(at);
        if (pause) await pause;
      } catch (fault) {
        this.closed = true;
        throw fault;
      }
    }
    const chunk = this.closed ? undefined : this.#chunks[at];
    if (chunk) return { done: false, value: chunk };
    return this.return();
  }

  async return(): Promise<IteratorResult<Chunk>> {
    this.closed = true;
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
