import type { Chunk } from '../gateway/exchange/canonical.ts';
import type { ChunkSink, ChunkSource, StreamHandle } from '../gateway/exchange/stream.ts';

/** A stream as a slow client takes it: one chunk at a time, paused while the next is not asked for. */
export class PulledStream implements AsyncIterableIterator<Chunk>, ChunkSink {
  readonly #stream: StreamHandle;
  /** Chunks that have come, from `#at` on not yet read. */
  #chunks: Chunk[] = [];
  #at = 0;
  #reader: PromiseWithResolvers<IteratorResult<Chunk>> | undefined;
  #ending: { readonly fault?: unknown } | undefined;
  /** How many chunks came though the stream was paused. */
  late = 0;
  #isPaused = false;

  constructor(source: ChunkSource) {
    this.#stream = source.pushInto(this);
  }

  next(): Promise<IteratorResult<Chunk>> {
    const reader = Promise.withResolvers<IteratorResult<Chunk>>();
    this.#reader = reader;
    this.#hand();
    if (this.#reader && !this.#ending) {
      this.#isPaused = false;
      this.#stream.resume();
    }
    return reader.promise;
  }

  async return(): Promise<IteratorResult<Chunk>> {
    if (!this.#ending) this.#stream.stop();
    this.#ending = {};
    this.#chunks = [];
    this.#at = 0;
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  chunk(chunk: Chunk): void {
    if (this.#ending) return;
    if (this.#isPaused) this.late++;
    this.#chunks.push(chunk);
    this.#hand();
  }

  /** Full as soon as nothing is asked for. */
  flush(): boolean {
    this.#isPaused = this.#reader === undefined;
    return !this.#isPaused;
  }

  end(): void {
    this.#ending ??= {};
    this.#hand();
  }

  fail(fault: unknown): void {
    this.#ending ??= { fault };
    this.#hand();
  }

  #hand(): void {
    const reader = this.#reader;
    const chunk = this.#chunks[this.#at];
    if (!reader || (!chunk && !this.#ending)) return;
    this.#reader = undefined;
    if (chunk) {
      if (++this.#at === this.#chunks.length) this.#chunks = [];
      if (this.#chunks.length === 0) this.#at = 0;
      return reader.resolve({ value: chunk, done: false });
    }
    const ending = this.#ending!;
    this.#ending = {};
    if ('fault' in ending) reader.reject(ending.fault);
    else reader.resolve({ value: undefined, done: true });
  }
}
