import { EventEmitter } from 'node:events';

/** Unread bytes above which the handler has to wait for `drain`. */
const high_water_bytes = 256 * 1024;

type Callback = (error?: Error | null) => void;

/** The bytes that a foreign handler writes, queued for one reader; a full queue makes the handler wait for `drain`. */
export class HandlerBody implements AsyncIterable<Buffer> {
  /** What the handler listens to on its response: `drain` when the reader has caught up, `finish`, `close`. */
  readonly events = new EventEmitter();
  #queue: Buffer[] = [];
  #queued_bytes = 0;
  #full = false;
  #ended = false;
  #error: Error | undefined;
  #wake: (() => void) | undefined;
  readonly #idle_ms: number;
  readonly #silent: () => void;
  /** Fires when the handler has been silent for too long; set once it was called. */
  #idle: NodeJS.Timeout | undefined;
  #begun = false;

  /** Calls `silent` when the handler writes nothing for `idle_ms` while its bytes are waited for. */
  constructor(idle_ms: number, silent: () => void) {
    this.#idle_ms = idle_ms;
    this.#silent = silent;
  }

  /** Begins to wait for the handler; call it when the handler is called. */
  expect(): void {
    this.#idle = setTimeout(() => {
      if (this.#ended) return;
      // A reader that is busy with the client is not waiting for the handler.
      if (this.#begun && !this.#wake) this.#idle?.refresh();
      else this.#silent();
    }, this.#idle_ms).unref();
  }

  /** True if the handler must wait for `drain` before it writes on. */
  get full(): boolean {
    return this.#full;
  }

  /** Like `response.write`: returns false when the reader does not keep up. Discards what comes after the end. */
  push(part: unknown, encoding?: unknown, callback?: unknown): boolean {
    const done = typeof encoding === 'function' ? encoding : callback;
    if (typeof done === 'function') process.nextTick(done as Callback, null);
    if (this.#ended) return true;
    this.#begun = true;
    this.#idle?.refresh();
    // Copied: the handler may reuse its buffer once the callback was called.
    const bytes =
      typeof part === 'string'
        ? Buffer.from(part, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
        : Buffer.from(part as Uint8Array);
    this.#queue.push(bytes);
    this.#queued_bytes += bytes.length;
    this.#full ||= this.#queued_bytes > high_water_bytes;
    this.#wakeUp();
    return !this.#full;
  }

  /** True when no more bytes will come. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Ends the body; `error` is thrown to the reader. Only the first call counts. */
  finish(error?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#idle);
    this.#error = error;
    this.#wakeUp();
  }

  /** Yields all bytes that arrived since the last turn, joined. May be iterated again after a reader has left. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    while (true) {
      if (this.#queue.length > 0) yield this.#take();
      else if (this.#error) throw this.#error;
      else if (this.#ended) return;
      else {
        this.#idle?.refresh();
        await new Promise<void>(wake => (this.#wake = wake));
      }
    }
  }

  #take(): Buffer {
    const bytes = this.#queue.length === 1 ? this.#queue[0]! : Buffer.concat(this.#queue, this.#queued_bytes);
    this.#queue = [];
    this.#queued_bytes = 0;
    if (this.#full) {
      this.#full = false;
      // In a turn of its own, so that the handler's code cannot throw into the reader.
      process.nextTick(() => this.events.emit('drain'));
    }
    return bytes;
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
