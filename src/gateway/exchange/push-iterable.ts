import type { Chunk } from './canonical.ts';
import type { ChunkSink, ChunkSource, StreamHandle } from './stream.ts';

/** Streams the chunks of an iterable one by one, no faster than the sink takes them; closes it when the sink stops. */
export function pushIterable(chunks: AsyncIterable<Chunk> | Iterable<Chunk>): ChunkSource {
  return { pushInto: sink => new IterablePush(chunks, sink) };
}

class IterablePush implements StreamHandle {
  readonly #chunks: AsyncIterable<Chunk> | Iterable<Chunk>;
  readonly #sink: ChunkSink;
  #iterator: AsyncIterator<Chunk> | Iterator<Chunk> | undefined;
  #stopped = false;
  #wake: (() => void) | undefined;

  constructor(chunks: AsyncIterable<Chunk> | Iterable<Chunk>, sink: ChunkSink) {
    this.#chunks = chunks;
    this.#sink = sink;
  }

  resume(): void {
    this.#wake?.();
    if (this.#iterator || this.#stopped) return;
    this.#iterator =
      Symbol.asyncIterator in this.#chunks
        ? this.#chunks[Symbol.asyncIterator]()
        : this.#chunks[Symbol.iterator]();
    void this.#push(this.#iterator);
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#wake?.();
    // Nothing reads what an iterable throws while it is closed.
    void (async () => this.#iterator?.return?.())().catch(() => {});
  }

  async #push(iterator: AsyncIterator<Chunk> | Iterator<Chunk>): Promise<void> {
    const sink = this.#sink;
    try {
      while (true) {
        const { done, value } = await iterator.next();
        if (this.#stopped) return;
        if (done) break;
        sink.chunk(value);
        if (!sink.flush() && !this.#stopped) await new Promise<void>(wake => (this.#wake = wake));
        if (this.#stopped) return;
      }
    } catch (thrown) {
      if (!this.#stopped) sink.fail(thrown);
      return;
    }
    sink.end();
  }
}
