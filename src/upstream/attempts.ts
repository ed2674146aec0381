import type { Chunk, Completion } from '../canonical.ts';
import type { Exchange } from '../exchange.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { markEvent } from '../telemetry/tracing.ts';
import { Attempt } from './attempt.ts';
import { ChunkFeed, type ChunkObserver } from './chunk-feed.ts';
import { endReasonOf, isRetryable } from './failure.ts';
import type { Upstream } from './upstream.ts';

/** How many chunks without a word of the answer may wait for its first word, where another upstream could be asked. */
const max_held = 16;

/**
 * The attempts of one exchange, one after another, until an upstream answers: the first word of an answer decides, and no other upstream
 * is asked after it (protocol i6). Every attempt encodes the canonical request anew.
 */
export class Attempts {
  readonly #exchange: Exchange;
  readonly #upstreams: readonly Upstream[];
  readonly #metrics: Metrics;
  readonly #made: Attempt[] = [];
  #current: Attempt | undefined;
  #ended = false;

  constructor(exchange: Exchange, upstreams: readonly Upstream[], metrics: Metrics) {
    this.#exchange = exchange;
    this.#upstreams = upstreams;
    this.#metrics = metrics;
  }

  /** The whole reply, or a GatewayError. */
  reply(): Promise<Completion> {
    return this.#untilAnswered(attempt => attempt.reply());
  }

  /** The reply as it comes, seen by `observer` chunk by chunk. Nobody is asked before the first chunk is. */
  stream(observer: ChunkObserver): AsyncIterable<Chunk> {
    const feed: ChunkFeed = new ChunkFeed(
      {
        begin: () => {
          const held = this.#upstreams.length > 1 ? max_held : 0;
          this.#untilAnswered(attempt => attempt.fill(feed, held)).catch(error => feed.fail(error));
        },
        drained: () => this.#current?.drained(),
        left: () => this.cancel(),
      },
      observer,
    );
    return feed;
  }

  /** Nobody is being asked, and nobody will be. */
  get ended(): boolean {
    return this.#ended || this.#current?.ended === true;
  }

  /** Ends the attempt that is under way; no other follows. */
  cancel(): void {
    this.#ended = true;
    this.#current?.cancel();
  }

  /** The exchange has ended, and what it used is known. */
  settled(): void {
    for (const attempt of this.#made) attempt.settled();
  }

  async #untilAnswered<T>(ask: (attempt: Attempt) => Promise<T>): Promise<T> {
    for (let at = 0; ; at++) {
      const attempt = new Attempt(this.#exchange, this.#upstreams[at]!, this.#metrics);
      this.#made.push(attempt);
      this.#current = attempt;
      try {
        return await ask(attempt);
      } catch (error) {
        if (!this.#mayGoOn(attempt, at)) throw this.#final(attempt, error);
        markEvent(this.#exchange.span, 'retry', { 'error.type': attempt.failure?.kind ?? '' });
        // A key that was declined rests now, so that the same upstream is asked once for each of its keys at most.
        if (attempt.hasAnotherKey) at--;
        this.#current = undefined;
      }
    }
  }

  #mayGoOn({ failure, generated, hasAnotherKey }: Attempt, at: number): boolean {
    if (!failure || generated || !isRetryable(failure)) return false;
    // The client has left, or was answered 524; nobody asks again in its name.
    if (this.#ended || this.#exchange.aborted || this.#exchange.end_reason !== undefined) return false;
    return hasAnotherKey || at + 1 < this.#upstreams.length;
  }

  #final({ failure }: Attempt, error: unknown): unknown {
    this.#ended = true;
    if (failure) this.#exchange.end_reason ??= endReasonOf(failure);
    return error;
  }
}
