import type { Chunk } from '../../canonical.ts';
import type { CommitBuffer } from '../attempt/commit-buffer.ts';
import type { EventReader } from './decode-reply.ts';
import type { BodyConsumer, UpstreamCall } from './upstream-call.ts';

/** How long an upstream may take to close a stream after `[DONE]` before its connection is given up. */
const done_patience_ms = 1000;
/** How long usage and `[DONE]` may follow the last finish reason; the client's last chunk waits for them. */
const finish_patience_ms = 5000;
/** Above this much that nobody has read the upstream is paused: an event may be as large as the configuration allows. */
const max_unread_bytes = 256 * 1024;

/** Whose stream it is. */
export interface IntakeOwner {
  /** Nothing more is to be given to it. */
  isOver(): boolean;
  give(chunks: Chunk[]): void;
  finish(): void;
  fault(thrown: unknown): void;
}

/** The bytes of one event stream on their way from the socket to the first stage, without a turn in between. */
export class StreamReader implements BodyConsumer {
  readonly #reader: EventReader;
  readonly #gate: CommitBuffer;
  readonly #call: UpstreamCall;
  readonly #owner: IntakeOwner;
  /** Of several choices one may end long before the next begins. */
  readonly #isSingle: boolean;
  /** Read from the upstream since the feed was last empty. */
  #unread_bytes = 0;
  /** Lets a compressed stream go on that waits for its reader. */
  #wanted: (() => void) | undefined;
  #patience: NodeJS.Timeout | undefined;

  constructor(
    reader: EventReader,
    gate: CommitBuffer,
    call: UpstreamCall,
    owner: IntakeOwner,
    { choices }: { readonly choices: number },
  ) {
    this.#reader = reader;
    this.#gate = gate;
    this.#call = call;
    this.#owner = owner;
    this.#isSingle = choices === 1;
  }

  bytes(part: Buffer): boolean {
    const reader = this.#reader;
    this.#give(reader.read(part));
    if (reader.done && reader.fault === undefined) {
      this.#finish();
      this.#call.release(done_patience_ms);
    } else if (reader.complete && this.#isSingle)
      this.#patience ??= setTimeout(this.#late, finish_patience_ms).unref();
    this.#unread_bytes = this.#gate.unread === 0 ? 0 : this.#unread_bytes + part.length;
    return this.#gate.hasRoom && this.#unread_bytes < max_unread_bytes;
  }

  end(): void {
    if (this.#owner.isOver()) return;
    this.#give(this.#reader.end());
    this.#finish();
  }

  fail(error: Error): void {
    // The stream's own fault has been told; that its call was ended for it says nothing more.
    if (this.#reader.fault !== undefined) return;
    if (!this.#owner.isOver() && this.#reader.survives(error)) this.#finish();
    else this.#owner.fault(error);
  }

  /** Takes a stream that was compressed, which was not asked for: slower, and as right. */
  async decompressed(bytes: AsyncIterable<Buffer>): Promise<void> {
    try {
      for await (const part of bytes) {
        const wantsMore = this.bytes(part);
        if (this.#owner.isOver()) return;
        if (!wantsMore) await new Promise<void>(wanted => (this.#wanted = wanted));
      }
    } catch (thrown) {
      return this.fail(thrown as Error);
    }
    this.end();
  }

  /** All that was given has been read: more is welcome. */
  drained(): void {
    this.#unread_bytes = 0;
    this.#call.resume();
    this.#wanted?.();
  }

  /** Nothing more is waited for. */
  close(): void {
    clearTimeout(this.#patience);
    this.#wanted?.();
  }

  #give(chunks: Chunk[]): void {
    this.#owner.give(chunks);
    if (this.#reader.fault !== undefined) this.#owner.fault(this.#reader.fault);
  }

  #finish(): void {
    if (!this.#owner.isOver()) this.#owner.finish();
  }

  readonly #late = (): void => {
    this.#finish();
    this.#call.cancel(new Error('the upstream did not end its stream'));
  };
}
