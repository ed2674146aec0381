import { EventEmitter } from 'node:events';
import type { Body, BodyConsumer } from '../../gateway/upstream/http/upstream-call.ts';

/** Unread bytes above which the handler has to wait for `drain`. */
const high_water_bytes = 256 * 1024;

type Callback = (error?: Error | null) => void;

const discarding: BodyConsumer = { bytes: () => true, end() {}, fail() {} };

/** The bytes that a foreign handler writes, those of a turn joined; a full queue makes the handler wait for `drain`. */
export class HandlerBody implements Body {
  /** What the handler listens to on its response: `drain` when the reader has caught up, `finish`, `close`. */
  readonly events = new EventEmitter();
  #consumer: BodyConsumer | undefined;
  #queue: Buffer[] = [];
  #queued_bytes = 0;
  #full = false;
  #paused = false;
  #flushScheduled = false;
  #begun = false;
  #end: { readonly error: Error | undefined } | undefined;
  readonly #over = Promise.withResolvers<void>();
  readonly #idle_ms: number;
  readonly #silent: () => void;
  /** Fires when the handler has been silent for too long; set once it was called. */
  #idle: NodeJS.Timeout | undefined;

  /** Calls `silent` when the handler writes nothing for `idle_ms` while its bytes are waited for. */
  constructor(idle_ms: number, silent: () => void) {
    this.#idle_ms = idle_ms;
    this.#silent = silent;
  }

  /** Begins to wait for the handler; call it when the handler is called. */
  expect(): void {
    this.#idle = setTimeout(() => {
      if (this.#end) return;
      // A reader that is busy with the client is not waiting for the handler.
      if (this.#begun && (!this.#consumer || this.#paused)) this.#idle?.refresh();
      else this.#silent();
    }, this.#idle_ms).unref();
  }

  /** True if the handler must wait for `drain` before it writes on. */
  get full(): boolean {
    return this.#full;
  }

  /** True when no more bytes will come. */
  get ended(): boolean {
    return this.#end !== undefined;
  }

  /** Resolves when no more bytes will come. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Like `response.write`: returns false when the reader does not keep up. Discards what comes after the end. */
  push(part: unknown, encoding?: unknown, callback?: unknown): boolean {
    const done = typeof encoding === 'function' ? encoding : callback;
    if (typeof done === 'function') process.nextTick(done as Callback, null);
    if (this.#end) return true;
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
    this.#flushSoon();
    return !this.#full;
  }

  /** Ends the body; the reader gets `error` after all bytes. Only the first call counts. */
  finish(error?: Error): void {
    if (this.#end) return;
    this.#end = { error };
    clearTimeout(this.#idle);
    this.#over.resolve();
    this.#flushSoon();
  }

  readInto(consumer: BodyConsumer): void {
    this.#consumer = consumer;
    this.resume();
  }

  resume(): void {
    this.#paused = false;
    this.#idle?.refresh();
    this.#flushSoon();
  }

  cancel(reason: Error): void {
    const consumer = this.#consumer;
    this.readInto(discarding);
    consumer?.fail(reason);
  }

  release(): void {
    this.readInto(discarding);
  }

  /** In a turn of its own, so that neither the handler's code nor the reader's can throw into the other. */
  #flushSoon(): void {
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    process.nextTick(() => {
      this.#flushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    const consumer = this.#consumer;
    if (!consumer || this.#paused) return;
    if (this.#queue.length > 0) {
      const bytes = this.#queue.length === 1 ? this.#queue[0]! : Buffer.concat(this.#queue);
      this.#queue = [];
      this.#queued_bytes = 0;
      this.#paused = !consumer.bytes(bytes);
      if (this.#full) process.nextTick(() => this.events.emit('drain'));
      this.#full = false;
    }
    if (this.#paused || !this.#end) return;
    this.#consumer = discarding;
    if (this.#end.error) consumer.fail(this.#end.error);
    else consumer.end();
  }
}
