import type { Chunk } from '../canonical.ts';

/** An upstream's stream under control: it knows whether it has been closed. */
export class Source implements AsyncIterableIterator<Chunk> {
  /** It has come to its end, or was closed by its reader. */
  closed = false;
  #at = 0;
  readonly #chunks: readonly Chunk[];
  readonly #atEnd: () => Promise<void>;

  /** `atEnd` is waited for when the chunks have been read; what it throws is the fault of the stream. */
  constructor(chunks: readonly Chunk[], atEnd: () => Promise<void> = async () => {}) {
    this.#chunks = chunks;
    this.#atEnd = atEnd;
  }

  async next(): Promise<IteratorResult<Chunk>> {
    const chunk = this.closed ? undefined : this.#chunks[this.#at++];
    if (chunk) return { done: false, value: chunk };
    if (!this.closed) {
      try {
        await this.#atEnd();
      } finally {
        this.closed = true;
      }
    }
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<Chunk>> {
    this.closed = true;
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
