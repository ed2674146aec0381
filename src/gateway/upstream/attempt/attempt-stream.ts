import type { Chunk, Delta, Usage } from '../../exchange/canonical.ts';
import type { GatewayError } from '../../exchange/errors.ts';
import type { ChunkSink, StreamHandle } from '../../exchange/stream.ts';

/** Makes the attempts that fill a stream. */
export interface StreamProducer {
  begin(stream: AttemptStream): void;
  /** Called when the sink takes chunks again. */
  drained(): void;
  /** Called when the sink has stopped the stream. */
  cancel(): void;
  /** Whether these chunks are not to begin the reply; their attempt has then failed. */
  refuses?(chunks: readonly Chunk[]): boolean;
}

/** Callbacks for the progress of one attempt. */
export interface AttemptProgress {
  /** Called at the first chunk with generated content. */
  firstWord(): void;
  /** Called when the first chunk is passed on, generated or not. */
  released(): void;
  /** Called with the usage of chunks that are not passed on, if they had one. */
  unreleased?(used: Usage): void;
}

/**
 * The client's stream of one exchange, filled by its attempts one after another. Holds back up to `max_held` chunks of an attempt until its
 * first generated one: another attempt may take its place only before a chunk was passed on.
 */
export class AttemptStream implements StreamHandle {
  /** True while the sink has asked for a pause. */
  isFull = false;
  /** True once generated content has arrived. */
  generated = false;
  readonly #sink: ChunkSink;
  readonly #producer: StreamProducer;
  readonly #max_held: number;
  #progress: AttemptProgress | undefined;
  #begun: PromiseWithResolvers<void> | undefined;
  #held: Chunk[] = [];
  #started = false;
  #released = false;
  #over = false;

  constructor(sink: ChunkSink, producer: StreamProducer, max_held: number) {
    this.#sink = sink;
    this.#producer = producer;
    this.#max_held = max_held;
  }

  /** Lets the next attempt fill the stream. Resolves when a chunk was passed on; rejects when the attempt fails before. */
  attempt(progress: AttemptProgress): Promise<void> {
    this.#drop();
    this.#progress = progress;
    this.#begun = Promise.withResolvers();
    return this.#begun.promise;
  }

  /** Takes chunks that arrived together. */
  give(chunks: readonly Chunk[]): void {
    if (chunks.length === 0 || this.#over) return;
    if (this.generated) return this.#pass(chunks);
    if (chunks.some(isGenerated)) {
      if (!this.#released && this.#producer.refuses?.(chunks)) return;
      this.generated = true;
      this.#progress?.firstWord();
    }
    if (!this.#released && !this.generated && this.#held.length + chunks.length <= this.#max_held)
      this.#held.push(...chunks);
    else this.#release(chunks);
  }

  end(): void {
    if (this.#over) return;
    this.#release([]);
    this.#over = true;
    this.#sink.end();
  }

  /**
   * Before the first chunk is passed on: rejects `attempt`, so that failover can happen. After: fails the stream and returns true. Ignores
   * the late error of an attempt that another has replaced.
   */
  fail(error: GatewayError, from: AttemptProgress): boolean {
    if (from !== this.#progress) return false;
    if (this.#released) this.giveUp(error);
    else this.#begun?.reject(error);
    return this.#released;
  }

  /** Fails the stream: no attempt was answered, and no other follows. */
  giveUp(error: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#drop();
    this.#sink.fail(error);
  }

  resume(): void {
    this.isFull = false;
    if (this.#started) return this.#producer.drained();
    this.#started = true;
    this.#producer.begin(this);
  }

  stop(): void {
    if (this.#over) return;
    this.#over = true;
    this.#held = [];
    if (this.#started) this.#producer.cancel();
  }

  #drop(): void {
    const used = this.#held.findLast(({ usage }) => usage)?.usage;
    this.#held = [];
    if (used) this.#progress?.unreleased?.(used);
  }

  #release(chunks: readonly Chunk[]): void {
    const held = this.#held;
    this.#held = [];
    if (!this.#released) {
      this.#released = true;
      this.#progress?.released();
      this.#begun?.resolve();
    }
    this.#pass(held.length > 0 ? [...held, ...chunks] : chunks);
  }

  #pass(chunks: readonly Chunk[]): void {
    for (let at = 0; at < chunks.length; at++) {
      this.#sink.chunk(chunks[at]!);
      if (this.#over) return;
    }
    if (chunks.length > 0) this.isFull = !this.#sink.flush();
  }
}

/** Whether a chunk carries generated content or a finish reason; a role or usage alone does not count. */
function isGenerated({ choices }: Chunk): boolean {
  return choices.some(({ delta, finish_reason }) => finish_reason !== null || hasContent(delta));
}

/** Whether a delta is generated content. */
export const hasContent = ({ content, reasoning, tool_calls, refusal }: Delta): boolean =>
  Boolean(content || reasoning || tool_calls?.length || refusal);
