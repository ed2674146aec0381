import type { Chunk } from '../../canonical.ts';
import type { EventReader } from './decode-reply.ts';
import type { Body, BodyConsumer } from './upstream-call.ts';

/** How long an upstream may take to close a stream after `[DONE]` before its connection is given up. */
const done_patience_ms = 1000;
/** How long usage and `[DONE]` may follow the last finish reason; the client's last chunk waits for them. */
const finish_patience_ms = 5000;

/** Receives the decoded stream. */
export interface StreamReaderOwner {
  /** True if it takes nothing more. */
  readonly isOver: boolean;
  /** Takes chunks that arrived together. False asks for a pause until `drained`. */
  give(chunks: readonly Chunk[]): boolean;
  finish(): void;
  /** Ends the stream with an error. `tooLarge`: one event, or the whole stream, exceeds its limit. */
  fault(thrown: unknown, tooLarge: boolean): void;
}

/** Decodes the bytes of one event stream to chunks, in the turn in which they arrive. */
export class StreamReader implements BodyConsumer {
  readonly #reader: EventReader;
  readonly #body: Body;
  readonly #owner: StreamReaderOwner;
  /** Whether there is one choice only: of several, one may end long before the next begins. */
  readonly #isSingle: boolean;
  #patience: NodeJS.Timeout | undefined;

  constructor(
    reader: EventReader,
    body: Body,
    owner: StreamReaderOwner,
    { choices }: { readonly choices: number },
  ) {
    this.#reader = reader;
    this.#body = body;
    this.#owner = owner;
    this.#isSingle = choices === 1;
  }

  read(): void {
    this.#body.readInto(this);
  }

  bytes(part: Buffer): boolean {
    // What follows the end is discarded.
    if (this.#owner.isOver) return true;
    const reader = this.#reader;
    const wantsMore = this.#give(reader.read(part));
    if (reader.done && reader.fault === undefined) {
      this.#finish();
      this.#body.release(done_patience_ms);
    } else if (reader.complete && this.#isSingle)
      this.#patience ??= setTimeout(this.#late, finish_patience_ms).unref();
    return wantsMore;
  }

  end(): void {
    if (this.#owner.isOver) return;
    this.#give(this.#reader.end());
    this.#finish();
  }

  fail(error: Error): void {
    // The stream's own error was reported; the error of the call that was ended for it adds nothing.
    if (this.#reader.fault !== undefined) return;
    if (!this.#owner.isOver && this.#reader.survives(error)) this.#finish();
    else this.#owner.fault(error, false);
  }

  /** Reads on, because all chunks were taken. */
  drained(): void {
    this.#body.resume();
  }

  /** Stops waiting for the end of the stream. */
  close(): void {
    clearTimeout(this.#patience);
  }

  #give(chunks: Chunk[]): boolean {
    const wantsMore = this.#owner.give(chunks);
    const { fault, tooLarge } = this.#reader;
    if (fault !== undefined) this.#owner.fault(fault, tooLarge);
    return wantsMore;
  }

  #finish(): void {
    if (!this.#owner.isOver) this.#owner.finish();
  }

  readonly #late = (): void => {
    this.#finish();
    this.#body.cancel(new Error('the upstream did not end its stream'));
  };
}
