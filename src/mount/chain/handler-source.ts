import { setTimeout as sleep } from 'node:timers/promises';
import type { Chunk, Completion } from '../../gateway/exchange/canonical.ts';
import { refusal } from '../../gateway/exchange/errors.ts';
import type { Exchange } from '../../gateway/exchange/exchange.ts';
import type { ReplySource } from '../../gateway/exchange/reply-source.ts';
import type { ChunkSink, ChunkSource, StreamHandle } from '../../gateway/exchange/stream.ts';
import type { ReplySink } from '../../gateway/outbound/reply-sink.ts';
import {
  AttemptFailed,
  failureOf,
  failureOfStatus,
  textOfFailure,
} from '../../gateway/upstream/attempt/attempt-failure.ts';
import { decodeWhole, isEventStream } from '../../gateway/upstream/http/decode-reply.ts';
import { beginningOf, decompressed } from '../../gateway/upstream/http/reply-body.ts';
import { StreamReader, type StreamReaderOwner } from '../../gateway/upstream/http/stream-reader.ts';
import type { Body } from '../../gateway/upstream/http/upstream-call.ts';
import { WholeReply } from '../../gateway/upstream/http/whole-reply.ts';
import { decodeOpenAiReply } from '../../gateway/upstream/openai/openai-format.ts';
import { OpenAiStreamDecoder } from '../../gateway/upstream/openai/openai-stream-decoder.ts';
import type { Interception } from './intercept-response.ts';

/** Size limits for a foreign handler's reply; larger ones are errors. */
const reply_limits = { max_event_bytes: 1_048_576, max_reply_bytes: 67_108_864 };
const error_body_bytes = 64 * 1024;
/** Time for a handler to end its reply after `[DONE]`. */
const done_patience_ms = 1000;
const openAiFormat = { decodeReply: decodeOpenAiReply };

/**
 * Reply source for the handler behind a chain, treated as an upstream that speaks OpenAI's format. The handler sees its client leave, as it
 * would without the chain.
 */
export class HandlerSource implements ReplySource {
  readonly outlivesClient = false;
  readonly #exchange: Exchange;
  readonly #interception: Interception;
  readonly #onReadOn: (pending: Promise<unknown>) => void;
  #isCancelled = false;

  /** `onReadOn` receives a reply that is read on after a 524. */
  constructor(exchange: Exchange, interception: Interception, onReadOn: (pending: Promise<unknown>) => void) {
    this.#exchange = exchange;
    this.#interception = interception;
    this.#onReadOn = onReadOn;
  }

  get sink(): ReplySink {
    return this.#interception.sink;
  }

  get ended(): boolean {
    return this.#interception.body.ended;
  }

  async reply(): Promise<Completion> {
    const exchange = this.#exchange;
    const waited = waitOf(exchange);
    let begun = false;
    // What the handler throws here is no reply of an upstream.
    this.#interception.call();
    try {
      const { body } = await accepted(this.#exchange, this.#interception);
      begun = true;
      return await decodeWhole(body, openAiFormat, reply_limits);
    } catch (thrown) {
      // Given up here, not by the handler, which has worked on the prompt.
      if (this.#isCancelled || exchange.end_reason === 'client_gone')
        throw refusal('server_error', { cause: thrown });
      throw failed(exchange, thrown, begun);
    } finally {
      waited();
    }
  }

  stream(): ChunkSource {
    return { pushInto: sink => new HandlerStream(this.#exchange, this.#interception, sink) };
  }

  readOn(pending: Promise<unknown>): void {
    this.#interception.readOn();
    this.#onReadOn(pending);
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#interception.cancel();
  }
}

class HandlerStream implements StreamHandle, StreamReaderOwner {
  isOver = false;
  readonly #exchange: Exchange;
  readonly #reply: Interception;
  readonly #sink: ChunkSink;
  /** Set when the handler is called: once the transformers have begun. */
  #waited: (() => void) | undefined;
  #reader: StreamReader | WholeReply | undefined;
  #body: Body | undefined;
  /** True once the handler has replied without an error. */
  #begun = false;

  constructor(exchange: Exchange, reply: Interception, sink: ChunkSink) {
    this.#exchange = exchange;
    this.#reply = reply;
    this.#sink = sink;
  }

  resume(): void {
    if (this.#waited) return this.#reader?.drained();
    this.#waited = waitOf(this.#exchange);
    try {
      this.#reply.call();
    } catch (thrown) {
      this.stop();
      return this.#sink.fail(thrown);
    }
    this.#read().catch(thrown => this.fault(thrown));
  }

  /** A handler ends by itself, or when its client leaves; here its reply is only read no further. */
  stop(): void {
    this.isOver = true;
    this.#reader?.close();
    this.#body?.cancel(new Error('the reply is not read on'));
  }

  give(chunks: readonly Chunk[]): boolean {
    if (this.isOver || chunks.length === 0) return true;
    this.#waited?.();
    for (const chunk of chunks) this.#sink.chunk(chunk);
    return this.#sink.flush();
  }

  /** Waits for the handler: closed before it has ended, it would cut its connection, which could serve the next request. */
  finish(late?: unknown): void {
    this.stop();
    if (late !== undefined)
      this.#exchange.log.warn({ err: late }, 'the handler failed after its last finish_reason');
    const patience = sleep(done_patience_ms, undefined, { ref: false });
    void Promise.race([this.#reply.body.over, patience]).then(() => this.#sink.end());
  }

  fault(thrown: unknown): void {
    if (this.isOver) return;
    this.stop();
    this.#waited?.();
    this.#sink.fail(failed(this.#exchange, thrown, this.#begun));
  }

  async #read(): Promise<void> {
    const { headers, body } = await accepted(this.#exchange, this.#reply);
    this.#body = body;
    this.#begun = true;
    if (isEventStream(headers)) {
      const decoder = new OpenAiStreamDecoder();
      const reader = new StreamReader(decoder, this, reply_limits, this.#exchange.request.n);
      this.#reader = reader;
      return reader.read(body);
    }
    const reply = new WholeReply(await decodeWhole(body, openAiFormat, reply_limits), this);
    this.#reader = reply;
    reply.give();
  }
}

/** Returns a function that records, once, how long the exchange has waited for the handler. */
function waitOf(exchange: Exchange): () => void {
  const asked_ms = exchange.clock.elapsed_ms();
  return () => {
    exchange.upstream_wait_ms ||= exchange.clock.elapsed_ms() - asked_ms;
  };
}

/** Throws if the handler's reply is an error; decompresses it, since some handlers compress unasked. */
async function accepted({ attempts }: Exchange, reply: Interception) {
  const { status, headers } = await reply.head;
  attempts.at(-1)!.status = status;
  const body = decompressed(reply.body, { headers });
  if (status < 300) return { headers, body };
  const text = await beginningOf(body, error_body_bytes).catch(() => '');
  throw new AttemptFailed(failureOfStatus(status, headers, text, false));
}

function failed(exchange: Exchange, thrown: unknown, begun: boolean): Error {
  const { error, kind } = failureOf(thrown, begun);
  exchange.attempts.at(-1)?.ended('failed', kind, textOfFailure(exchange, { error }));
  exchange.end.causedBy(error.code === 'upstream_refused' ? 'refused' : 'upstream_failed');
  return error;
}
