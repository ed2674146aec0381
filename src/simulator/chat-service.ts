import { randomUUID } from 'node:crypto';
import QuickLRU from 'quick-lru';
import { type ChunkStyle, chunkHead, renderChunks, type StreamEvent } from './chunks.ts';
import { completionHead, renderCompletion } from './completion.ts';
import { sendCompletion } from './completion-faults.ts';
import type { Directives } from './directives.ts';
import { errorBody } from './error-body.ts';
import { FailureLottery } from './failure-lottery.ts';
import type { SimulatorOptions } from './options.ts';
import type { Pace, Paced } from './pace.ts';
import { type Prepared, prepareReply } from './prepare.ts';
import { Refusal } from './refusal.ts';
import { failBeforeReply, isFailure } from './reply-faults.ts';
import type { SimulatedExchange } from './simulated-exchange.ts';
import { PacedStream } from './stream.ts';
import { hasStreamFaults, withFaults } from './stream-faults.ts';

/** Longer request bodies are not cached. */
const KEPT_BODY_CHARS = 16_384;
/** Streams of at most this many tokens are rendered once and kept with their request. */
const KEPT_STREAM_TOKENS = 1_024;

interface Kept extends Prepared {
  /** Set by the first stream; a stream is cached from the second on, since a single one is not worth the memory. */
  streamed?: true;
  events?: readonly StreamEvent[];
  completion?: string;
}

/** Answers chat completion requests as the options and the requests' own directives say. */
export class ChatService {
  readonly #options: SimulatorOptions;
  readonly #pace: Pace;
  readonly #lottery: FailureLottery;
  /** Prepared replies by request body, with and without a failure by the fail rate. */
  readonly #healthy = new QuickLRU<string, Kept>({ maxSize: 256 });
  readonly #failing = new QuickLRU<string, Kept>({ maxSize: 256 });

  constructor(options: SimulatorOptions, pace: Pace) {
    this.#options = options;
    this.#pace = pace;
    this.#lottery = new FailureLottery(options);
  }

  /** Answers the request with this body, at once or paced. */
  answer(exchange: SimulatedExchange, body_text: string): void {
    const failure = this.#lottery.draw();
    try {
      this.#deliver(exchange, this.#prepared(body_text, failure));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      exchange.refuse(error.status, errorBody('vllm', error.status, error.message, error.param).text);
    }
  }

  #prepared(body_text: string, failure: Directives | undefined): Kept {
    const cache = failure ? this.#failing : this.#healthy;
    const known = cache.get(body_text);
    if (known) return known;
    const prepared = prepareReply(body_text, this.#options, failure);
    if (body_text.length <= KEPT_BODY_CHARS) cache.set(body_text, prepared);
    return prepared;
  }

  #deliver(exchange: SimulatedExchange, kept: Kept): void {
    const { directives, request } = kept;
    const ttft_ms = directives.ttft ?? this.#options.ttft_ms;
    const per_second = directives.tps ?? this.#options.tokens_per_second;
    const ms_per_token = per_second === 0 ? 0 : 1_000 / per_second;
    if (isFailure(directives)) exchange.outcome = 'failed';
    const failure = failBeforeReply(exchange, directives);
    if (failure) {
      this.#after(exchange, ttft_ms, failure);
    } else if (request.stream && !directives.json) {
      this.#stream(exchange, kept, ttft_ms, ms_per_token);
    } else {
      const longest = Math.max(...kept.reply.choices.map(choice => choice.tokens));
      // An endless completion is never sent: the client waits until it gives up.
      if (longest === Number.POSITIVE_INFINITY) return;
      this.#after(exchange, ttft_ms + longest * ms_per_token, () => this.#complete(exchange, kept));
    }
  }

  #stream(exchange: SimulatedExchange, kept: Kept, ttft_ms: number, ms_per_token: number): void {
    const events = this.#events(kept);
    const faulty = hasStreamFaults(kept.directives) ? withFaults(events, kept.directives) : null;
    const script = {
      head: chunkHead(newId(), nowSeconds(), kept.model),
      events: faulty ?? events[Symbol.iterator](),
      ttft_ms,
      ms_per_token,
    };
    const stream = new PacedStream(exchange.response, script, this.#pace);
    exchange.onLeave(() => stream.stop());
    stream.start();
  }

  #events(kept: Kept): Iterable<StreamEvent> {
    if (kept.events) return kept.events;
    const events = renderChunks(kept.reply, chunkStyle(kept, this.#options));
    const tokens = kept.reply.choices.reduce((sum, choice) => sum + choice.tokens, 0);
    const first = kept.streamed === undefined;
    kept.streamed = true;
    if (first || tokens > KEPT_STREAM_TOKENS) return events;
    kept.events = [...events];
    return kept.events;
  }

  #complete(exchange: SimulatedExchange, kept: Kept): void {
    const usage = (kept.directives.usage ?? this.#options.usage) !== 'none';
    kept.completion ??= renderCompletion(kept.reply, usage);
    sendCompletion(
      exchange,
      completionHead(newId(), nowSeconds(), kept.model) + kept.completion,
      kept.directives,
    );
  }

  #after(exchange: SimulatedExchange, delay_ms: number, act: () => void): void {
    if (delay_ms === 0) {
      act();
      return;
    }
    const paced: Paced = { slot: -1, due: act };
    exchange.onLeave(() => this.#pace.cancel(paced));
    this.#pace.schedule(paced, this.#pace.now() + delay_ms);
  }
}

function chunkStyle({ request, directives }: Prepared, options: SimulatorOptions): ChunkStyle {
  const usage = directives.usage ?? options.usage;
  const include_usage = request.include_usage && usage !== 'none';
  return {
    tokens_per_chunk: directives.chunk ?? options.tokens_per_chunk,
    include_usage,
    continuous_usage_stats: include_usage && request.continuous_usage_stats && usage !== 'final',
  };
}

function newId(): string {
  return `chatcmpl-${randomUUID().replaceAll('-', '')}`;
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000);
}
