import { Readable } from 'node:stream';
import type { Chunk, Completion } from '../canonical.ts';
import type { Exchange } from '../exchange.ts';
import { metered } from '../settlement/metered-stream.ts';
import type { StreamMeter } from '../settlement/stream-meter.ts';
import type { ChunkSink, ChunkSource, StreamHandle } from '../stream.ts';
import { failureOf, failureOfStatus } from '../upstream/attempt/attempt-failure.ts';
import { chunkOf, decodeWhole, isEventStream } from '../upstream/http/decode-reply.ts';
import { beginningOf, decompressed, StreamBody } from '../upstream/http/reply-body.ts';
import { StreamReader, type StreamReaderOwner } from '../upstream/http/stream-reader.ts';
import type { Body } from '../upstream/http/upstream-call.ts';
import { decodeOpenAiReply, encodeOpenAi } from '../upstream/openai/openai-format.ts';
import { OpenAiStreamDecoder } from '../upstream/openai/openai-stream-decoder.ts';
import type { Interception } from './intercept-response.ts';

/** The handler behind a chain, treated as an upstream that speaks OpenAI's format: what it is asked, and what it replies. */

type Reply = Pick<Interception, 'call' | 'head' | 'bytes'>;

/** Size limits for a foreign handler's reply; larger ones are errors. */
const reply_limits = { max_event_bytes: 1_048_576, max_reply_bytes: 67_108_864 };
const error_body_bytes = 64 * 1024;
/** Time for a handler to end its reply after `[DONE]`. */
const done_patience_ms = 1000;
const openAiFormat = { decodeReply: decodeOpenAiReply };

/**
 * Request body for the handler, with the model name that the client used. If the reply is read here, asks for usage to meter it; otherwise
 * the client gets only what it asked for.
 */
export function foreignBody({ request, model }: Exchange, metered: boolean): Record<string, unknown> {
  const target = { model: request.model, effortMap: {}, extraParameters: model?.extra_parameters ?? [] };
  const body = encodeOpenAi(request, target);
  const effort = request.reasoning_effort;
  if (effort !== undefined) Object.assign(body, model?.effort_map[effort] ?? { reasoning_effort: effort });
  if (!request.stream) return body;
  const { continuous_usage_stats, ...options } = request.stream_options ?? {};
  // With several choices, servers differ in whether running usage is of one choice or of all (protocol d8).
  const running = continuous_usage_stats !== undefined && (!metered || (request.n ?? 1) === 1);
  const stream_options = {
    ...options,
    ...(running && { continuous_usage_stats }),
    ...(metered && { include_usage: true }),
  };
  if (Object.keys(stream_options).length > 0) body.stream_options = stream_options;
  return body;
}

/** The handler's stream as canonical chunks; fails with a GatewayError. */
export function foreignStream(exchange: Exchange, reply: Reply, meter: StreamMeter): ChunkSource {
  return metered({ pushInto: sink => new HandlerStream(exchange, reply, sink) }, meter);
}

class HandlerStream implements StreamHandle, StreamReaderOwner {
  isOver = false;
  readonly #exchange: Exchange;
  readonly #reply: Reply;
  readonly #sink: ChunkSink;
  /** Set when the handler is called: once the transformers have begun. */
  #waited: (() => void) | undefined;
  #reader: StreamReader | undefined;
  #body: Body | undefined;
  /** True once the handler has replied without an error. */
  #begun = false;

  constructor(exchange: Exchange, reply: Reply, sink: ChunkSink) {
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

  finish(): void {
    this.stop();
    void untilEnded(this.#reply.bytes).then(() => this.#sink.end());
  }

  fault(thrown: unknown): void {
    if (this.isOver) return;
    this.stop();
    this.#waited?.();
    this.#sink.fail(failed(this.#exchange, thrown, this.#begun));
  }

  async #read(): Promise<void> {
    const { headers, body } = await accepted(this.#reply);
    this.#body = body;
    this.#begun = true;
    if (isEventStream(headers)) {
      const decoder = new OpenAiStreamDecoder();
      this.#reader = new StreamReader(decoder, this, reply_limits, this.#exchange.request.n);
      return this.#reader.read(body);
    }
    this.give([chunkOf(await decodeWhole(body, openAiFormat, reply_limits))]);
    this.finish();
  }
}

/** Resolves with the handler's whole reply in the canonical form; rejects with a GatewayError. */
export async function foreignReply(exchange: Exchange, reply: Reply): Promise<Completion> {
  const waited = waitOf(exchange);
  let begun = false;
  // What the handler throws here is no reply of an upstream.
  reply.call();
  try {
    const { body } = await accepted(reply);
    begun = true;
    return await decodeWhole(body, openAiFormat, reply_limits);
  } catch (thrown) {
    throw failed(exchange, thrown, begun);
  } finally {
    waited();
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
async function accepted({ head, bytes }: Reply) {
  const { status, headers } = await head;
  const body = decompressed(new StreamBody(Readable.from(bytes)), { headers });
  if (status < 300) return { headers, body };
  const text = await beginningOf(body, error_body_bytes).catch(() => '');
  throw failureOfStatus(status, headers, text, false).error;
}

function failed(exchange: Exchange, thrown: unknown, begun: boolean): Error {
  const { error } = failureOf(thrown, begun);
  exchange.end.causedBy(error.code === 'upstream_refused' ? 'refused' : 'upstream_failed');
  return error;
}

/**
 * Reads and discards what follows `[DONE]`. A handler that is closed before it has ended cuts its connection to the upstream, which could
 * serve the next request.
 */
function untilEnded(bytes: AsyncIterable<Buffer>): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, done_patience_ms);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    readAway(bytes).then(done, done);
  });
}

async function readAway(bytes: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of bytes);
}
