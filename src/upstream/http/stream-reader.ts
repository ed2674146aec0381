import type { Chunk } from '../../canonical.ts';
import type { EventReader } from './decode-reply.ts';
import type { BodyConsumer, UpstreamCall } from './upstream-call.ts';

/** How long an upstream may take to close a stream after `[DONE]` before its connection is given up. */
const done_patience_ms = 1000;
/** How long usage and `[DONE]` may follow the last finish reason; the client's last chunk waits for them. */
const finish_patience_ms = 5000;

/** What is made of the stream. */
export interface StreamReaderOwner {
  /** Nothing more is to be given to it. */
  readonly isOver: boolean;
  /** Chunks that came together. False asks for a pause until `drained`. */
  give(chunks: readonly Chunk[]): boolean;
  finish(): void;
  /** `tooLarge`: an event, or all of it. */
  fault(thrown: unknown, tooLarge: boolean): void;
}

/** The call that brings the bytes. */
export type StreamCall = Pick<UpstreamCall, 'release' | 'cancel' | 'resume'>;

/** The bytes of one event stream to chunks, in the turn in which they come. */
export class StreamReader implements BodyConsumer {
  readonly #reader: EventReader;
  readonly #call: StreamCall;
  readonly #owner: StreamReaderOwner;
  /** Of several choices one may end long before the next begins. */
  readonly #isSingle: boolean;
  /** Continues `readFrom`. */
  #wanted: (() => void) | undefined;
  #patience: NodeJS.Timeout | undefined;

  constructor(
    reader: EventReader,
    call: StreamCall,
    owner: StreamReaderOwner,
    { choices }: { readonly choices: number },
  ) {
    this.#reader = reader;
    this.#call = call;
    this.#owner = owner;
    this.#isSingle = choices === 1;
  }

  bytes(part: Buffer): boolean {
    const reader = this.#reader;
    const wantsMore = this.#give(reader.read(part));
    if (reader.done && reader.fault === undefined) {
      this.#finish();
      this.#call.release(done_patience_ms);
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
    // The stream's own fault has been told; that its call was ended for it says nothing more.
    if (this.#reader.fault !== undefined) return;
    if (!this.#owner.isOver && this.#reader.survives(error)) this.#finish();
    else this.#owner.fault(error, false);
  }

  /** Reads bytes that are not pushed: of a compressed stream, or of a handler. */
  async readFrom(bytes: AsyncIterable<Buffer>): Promise<void> {
    try {
      for await (const part of bytes) {
        const wantsMore = this.bytes(part);
        if (this.#owner.isOver) return;
        if (!wantsMore) await new Promise<void>(wanted => (this.#wanted = wanted));
      }
    } catch (thrown) {
      return this.fail(thrown as Error);
    }
    this.end();
  }

  /** All that was given has been read: more is welcome. */
  drained(): void {
    this.#call.resume();
    this.#wanted?.();
  }

  /** Nothing more is waited for. */
  close(): void {
    clearTimeout(this.#patience);
    this.#wanted?.();
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
    this.#call.cancel(new Error('the upstream did not end its stream'));
  };
}
