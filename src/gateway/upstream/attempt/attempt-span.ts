import { type Span, SpanKind } from '@opentelemetry/api';
import {
  describeSpan,
  endSpan,
  isRecorded,
  startChildSpan,
  traceHeaders,
  unlessTracingFails,
} from '../../../telemetry/tracing.ts';
import type { RunningAttempt } from '../../exchange/attempt-record.ts';
import type { Chunk, Completion, StreamDecoder } from '../../exchange/canonical.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { Adapter } from '../adapter.ts';
import type { Upstream } from '../routing/upstream.ts';
import { ContentCapture } from './content-capture.ts';
import { attemptAttributes, requestAttributes, usageAttributes } from './gen-ai-attributes.ts';
import { ReplyIdentity } from './reply-identity.ts';

/** The span `{operation} {model}` of one attempt, below the exchange's, with the GenAI attributes. */
export class AttemptSpan {
  readonly #exchange: Exchange;
  readonly #attempt: RunningAttempt;
  readonly #span: Span;
  readonly #isRecorded: boolean;
  readonly #content: ContentCapture | undefined;
  readonly #identity = new ReplyIdentity();
  /** By choice. */
  readonly #finish_reasons: string[] = [];
  #hasAnswered = false;
  #first_chunk_ms: number | undefined;
  #end_ms: number | undefined;

  /** Undefined without a trace, which is the usual case. */
  static of(exchange: Exchange, upstream: Upstream, attempt: RunningAttempt): AttemptSpan | undefined {
    return exchange.trace_id === undefined ? undefined : new AttemptSpan(exchange, upstream, attempt);
  }

  private constructor(exchange: Exchange, upstream: Upstream, attempt: RunningAttempt) {
    this.#exchange = exchange;
    this.#attempt = attempt;
    const name = `${exchange.operation} ${upstream.target.model}`;
    this.#span = startChildSpan(exchange.span, name, SpanKind.CLIENT, {});
    this.#isRecorded = isRecorded(this.#span);
    if (!this.#isRecorded) return;
    describeSpan(this.#span, () => requestAttributes(exchange, upstream));
    const { content } = upstream.provider;
    const capture = () => ContentCapture.of(this.#span, content, exchange.request.messages);
    this.#content = unlessTracingFails(capture, undefined);
  }

  /** Headers that carry the trace to the upstream. */
  get headers(): Readonly<Record<string, string>> {
    return traceHeaders(this.#span);
  }

  /** `decoder`, which shows the id and model of the reply to the span. */
  decoderOf(decoder: StreamDecoder): StreamDecoder {
    return this.#identity.ofStream(decoder);
  }

  /** `adapter`, which shows the id and model of a whole reply to the span. */
  adapterOf(adapter: Adapter): Pick<Adapter, 'decodeReply'> {
    return this.#identity.ofReply(adapter);
  }

  /** Notes chunks of the answer, the first of which came after `first_chunk_ms`. */
  chunks(chunks: readonly Chunk[], first_chunk_ms: number): void {
    this.#first_chunk_ms = first_chunk_ms;
    for (const { choices } of chunks)
      for (const { index, delta, finish_reason } of choices) {
        this.#hasAnswered = true;
        if (finish_reason !== null) this.#finish_reasons[index] = finish_reason;
        this.#content?.said(index, delta);
      }
  }

  /** Notes a whole answer. */
  reply({ choices }: Completion): void {
    for (const { index, message, finish_reason } of choices) {
      this.#hasAnswered = true;
      this.#finish_reasons[index] = finish_reason;
      this.#content?.said(index, message);
    }
  }

  /** Notes the end of the attempt; its usage may not be known yet. */
  ended(): void {
    this.#end_ms = performance.now();
  }

  /** Closes the span without usage, because another attempt follows. */
  superseded(): void {
    if (!this.#isRecorded) return;
    const finish_reasons = this.#allFinishReasons();
    const first_chunk_ms = this.#first_chunk_ms;
    unlessTracingFails(() => this.#content?.end(finish_reasons), undefined);
    describeSpan(this.#span, () => ({
      ...attemptAttributes(this.#attempt),
      ...this.#identity.attributes,
      'gen_ai.response.finish_reasons': finish_reasons,
      'gen_ai.response.time_to_first_chunk': first_chunk_ms === undefined ? undefined : first_chunk_ms / 1000,
    }));
    endSpan(this.#span, this.#attempt.error_type, this.#end_ms);
  }

  /** Closes the span with the exchange's usage, at the time at which the attempt ended. */
  settled(): void {
    if (this.#isRecorded) describeSpan(this.#span, () => usageAttributes(this.#exchange.usage));
    this.superseded();
  }

  /** A reason for each choice that was asked for, once one has begun; `error` for one that did not come to its end. */
  #allFinishReasons(): string[] | undefined {
    if (!this.#hasAnswered) return undefined;
    const { n = 1 } = this.#exchange.request;
    return Array.from({ length: n }, (_, index) => this.#finish_reasons[index] ?? 'error');
  }
}
