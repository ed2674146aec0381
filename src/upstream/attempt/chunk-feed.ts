import type { Chunk } from '../../canonical.ts';
import type { ChunkSink, Flow, FlowingStream } from '../../flow.ts';

/** Above this many chunks that nobody has read there is no room for more. */
const max_unread = 64;

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
 * Chunks from a producer that pushes to one reader that pulls, or to a sink. Written as a plain iterator: it runs for every chunk of
 * every stream, and each async generator between the socket and the first stage would cost as much as a stage.
 */
export class ChunkFeed implements AsyncIterableIterator<Chunk>, FlowingStream {
  readonly #producer: Producer;
  readonly #observer: ChunkObserver;
  #chunks: readonly Chunk[] = [];
  #at = 0;
  #begun = false;
  #over = false;
  #closed = false;
  #fault: unknown;
  #reader: Reader | undefined;
  #sink: ChunkSink | undefined;
  /** The sink takes no more. */
  #full = false;

  constructor(producer: Producer, observer: ChunkObserver) {
    this.#producer = producer;
    this.#observer = observer;
  }

  /** How many chunks wait to be read. */
  get unread(): number {
    return this.#chunks.length - this.#at;
  }

  /** False asks the producer to wait until `drained`. */
  get hasRoom(): boolean {
    return this.#sink ? !this.#full : this.unread < max_unread;
  }

  /** Takes what came together. */
  push(chunks: readonly Chunk[]): void {
    if (chunks.length === 0 || this.#over) return;
    if (this.#sink) return this.#pour(chunks, this.#sink);
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

  flowInto(sink: ChunkSink): Flow {
    this.#sink = sink;
    return {
      resume: () => {
        if (!this.#begun) this.#begin();
        else if (this.#full) {
          this.#full = false;
          this.#producer.drained();
        }
      },
      stop: () => this.#leave(),
    };
  }

  next(): Promise<IteratorResult<Chunk>> {
    if (!this.#begun) this.#begin();
    if (this.unread === 0 && this.#over) return this.#last();
    return new Promise((resolve, reject) => {
      const reader = { resolve, reject };
      if (this.unread > 0) this.#hand(reader);
      else this.#reader = reader;
    });
  }

  return(): Promise<IteratorResult<Chunk>> {
    this.#leave();
    return this.#last();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #begin(): void {
    this.#begun = true;
    this.#producer.begin();
  }

  #leave(): void {
    this.#abandon();
    this.#fault = undefined;
    this.#close();
  }

  /** Nothing more is taken of the producer, which is told. */
  #abandon(): void {
    this.#over = true;
    this.#chunks = [];
    this.#at = 0;
    if (this.#begun) this.#producer.left();
  }

  /** Gives a reader the next chunk. An observer that throws ends the stream: a reader must never wait for what will not come. */
  #hand(reader: Reader): void {
    const value = this.#chunks[this.#at++]!;
    try {
      this.#observer.chunk(value);
    } catch (thrown) {
      this.#abandon();
      reader.reject(thrown);
      return;
    }
    if (this.#at === this.#chunks.length) this.#producer.drained();
    reader.resolve({ value, done: false });
  }

  #pour(chunks: readonly Chunk[], sink: ChunkSink): void {
    for (const chunk of chunks) {
      try {
        this.#observer.chunk(chunk);
      } catch (thrown) {
        this.#abandon();
        sink.fail(thrown);
        return;
      }
      sink.chunk(chunk);
      if (this.#over) return;
    }
    this.#full = !sink.flush();
  }

  #finish(fault: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#fault = fault;
    if (this.#sink) return this.#tell(this.#sink);
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader) this.#last().then(reader.resolve, reader.reject);
  }

  #tell(sink: ChunkSink): void {
    this.#close();
    if (this.#fault === undefined) sink.end();
    else sink.fail(this.#fault);
  }

  /** The end as the reader sees it; a fault only once. */
  #last(): Promise<IteratorResult<Chunk>> {
    this.#close();
    const fault = this.#fault;
    this.#fault = undefined;
    return fault === undefined ? Promise.resolve({ value: undefined, done: true }) : Promise.reject(fault);
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    try {
      if (this.#begun) this.#observer.end();
    } catch (thrown) {
      this.#fault ??= thrown;
    }
  }
}
