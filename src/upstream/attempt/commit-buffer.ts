import type { Chunk } from '../../canonical.ts';
import type { GatewayError } from '../../errors.ts';
import type { ChunkFeed } from './chunk-feed.ts';

/** Who wants to know how far an attempt has come. */
export interface GateKeeper {
  /** The first word of the answer is there. */
  firstWord(): void;
  /** The first chunk is handed on, be it a word or not. */
  released(): void;
}

/**
 * The way of one attempt's chunks to the feed that all attempts of an exchange fill. Up to `max_held` chunks without a word of the answer
 * wait for its first word: until something was handed on another attempt may still take this one's place.
 */
export class CommitBuffer {
  /** Something generated has passed. */
  generated = false;
  /** Resolves when something has been handed on; rejects when the attempt has failed before, and then nothing was. */
  readonly begun: Promise<void>;
  readonly #feed: ChunkFeed;
  readonly #keeper: GateKeeper;
  #max_held: number;
  #held: Chunk[] = [];
  #released = false;
  #resolve!: () => void;
  #reject!: (error: GatewayError) => void;

  constructor(feed: ChunkFeed, max_held: number, keeper: GateKeeper) {
    this.#feed = feed;
    this.#max_held = max_held;
    this.#keeper = keeper;
    this.begun = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** How many chunks wait to be read. */
  get unread(): number {
    return this.#feed.unread;
  }

  get hasRoom(): boolean {
    return this.#feed.hasRoom;
  }

  give(chunks: readonly Chunk[]): void {
    if (this.generated) this.#feed.push(chunks);
    else if (chunks.length > 0) this.#giveFirst(chunks);
  }

  end(): void {
    if (!this.#released) this.#release();
    this.#feed.end();
  }

  /** Tells the fault to whoever still can do something about it, or else to the reader. Says whether the reader was told. */
  fail(error: GatewayError): boolean {
    if (this.#released) this.#feed.fail(error);
    else this.#reject(error);
    return this.#released;
  }

  #giveFirst(chunks: readonly Chunk[]): void {
    if (chunks.some(isGenerated)) {
      this.generated = true;
      this.#keeper.firstWord();
    }
    this.#held.push(...chunks);
    if (this.generated || this.#held.length > this.#max_held) this.#release();
  }

  #release(): void {
    const held = this.#held;
    this.#held = [];
    this.#max_held = 0;
    if (!this.#released) {
      this.#released = true;
      this.#keeper.released();
      this.#resolve();
    }
    this.#feed.push(held);
  }
}

/** Whether a chunk carries anything of the answer, be it that it has ended; a role and usage are none. */
function isGenerated({ choices }: Chunk): boolean {
  return choices.some(
    ({ delta, finish_reason }) =>
      finish_reason !== null || delta.content || delta.reasoning || delta.tool_calls?.length || delta.refusal,
  );
}
