import type { Chunk } from '../canonical.ts';

/** Sees every chunk as it is handed on, and the end of the stream, once. */
export interface ChunkObserver {
  chunk(chunk: Chunk): void;
  end(): void;
}

/** Who fills a feed. */
export interface Producer {
  /** Called when the first chunk is asked for. */
  begin(): void;
  /** Everything has been read: more is welcome. */
  drained(): void;
  /** The reader has left. */
  left(): void;
}

interface Reader {
  resolve(result: IteratorResult<Chunk>): void;
  reject(fault: unknown): void;
}

/**
 * Chunks from a producer that pushes to one reader that pulls. Written as a plain iterator: it runs for every chunk of every stream,
 * and each async generator between the socket and the first stage would cost as much as a stage.
 */
export class ChunkFeed implements AsyncIterableIterator<Chunk> {
  readonly #producer: Producer;
  readonly #observer: ChunkObserver;
  #chunks: readonly Chunk[] = [];
  #at = 0;
  #begun = false;
  #over = false;
  #closed = false;
  #fault: unknown;
  #reader: Reader | undefined;

  constructor(producer: Producer, observer: ChunkObserver) {
    this.#producer = producer;
    this.#observer = observer;
  }

  /** How many chunks wait to be read. */
  get unread(): number {
    return this.#chunks.length - this.#at;
  }

  push(chunks: readonly Chunk[]): void {
    if (chunks.length === 0 || this.#over) return;
    this.#chunks = this.unread === 0 ? chunks : [...this.#chunks.slice(this.#at), ...chunks];
    this.#at = 0;
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader) this.#hand(reader);
  }

  /** No more will come; what waits is still read. */
  end(): void {
    this.#finish(undefined);
  }

  /** No more will come: the reader sees `fault` after what waits. */
  fail(fault: unknown): void {
    this.#finish(fault);
  }

  next(): Promise<IteratorResult<Chunk>> {
    if (!this.#begun) {
      this.#begun = true;
      this.#producer.begin();
    }
    if (this.unread === 0 && this.#over) return this.#last();
    return new Promise((resolve, reject) => {
      const reader = { resolve, reject };
      if (this.unread > 0) this.#hand(reader);
      else this.#reader = reader;
    });
  }

  return(): Promise<IteratorResult<Chunk>> {
    this.#over = true;
    this.#fault = undefined;
    this.#chunks = [];
    this.#at = 0;
    if (this.#begun) this.#producer.left();
    return this.#last();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Gives a reader the next chunk. An observer that throws ends the stream: a reader must never wait for what will not come. */
  #hand(reader: Reader): void {
    const value = this.#chunks[this.#at++]!;
    try {
      this.#observer.chunk(value);
    } catch (thrown) {
      this.#over = true;
      this.#chunks = [];
      this.#at = 0;
      this.#producer.left();
      reader.reject(thrown);
      return;
    }
    if (this.#at === this.#chunks.length) this.#producer.drained();
    reader.resolve({ value, done: false });
  }

  #finish(fault: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#fault = fault;
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader) this.#last().then(reader.resolve, reader.reject);
  }

  /** The end as the reader sees it; a fault only once. */
  #last(): Promise<IteratorResult<Chunk>> {
    if (!this.#closed) {
      this.#closed = true;
      try {
        if (this.#begun) this.#observer.end();
      } catch (thrown) {
        this.#fault ??= thrown;
      }
    }
    const fault = this.#fault;
    this.#fault = undefined;
    return fault === undefined ? Promise.resolve({ value: undefined, done: true }) : Promise.reject(fault);
  }
}
