import { type Span, SpanKind } from '@opentelemetry/api';
import type { ClientMetrics } from '../../../telemetry/client-metrics.ts';
import type { HistogramSeries } from '../../../telemetry/metric-series.ts';
import {
  describeSpan,
  endSpan,
  isRecorded,
  startChildSpan,
  traceHeaders,
  unlessTracingFails,
} from '../../../telemetry/tracing.ts';
import type { RunningAttempt } from '../../exchange/attempt-record.ts';
import type { Chunk, Completion } from '../../exchange/canonical.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { Adapter, StreamDecoder } from '../adapter.ts';
import type { Upstream } from '../routing/upstream.ts';
import { ContentCapture } from './content-capture.ts';
import { attemptAttributes, requestAttributes, usageAttributes } from './gen-ai-attributes.ts';
import { ReplyIdentity } from './reply-identity.ts';

/** Metrics of one attempt, and its span `chat {model}` below the exchange's, with the GenAI attributes. */
export class AttemptTelemetry {
  readonly #exchange: Exchange;
  readonly #provider: string;
  readonly #metrics: ClientMetrics;
  /** The exchange's own if that one is not recorded. */
  readonly #span: Span;
  readonly #isRecorded: boolean = false;
  readonly #content: ContentCapture | undefined;
  readonly #identity: ReplyIdentity | undefined;
  readonly #attempt: RunningAttempt;
  /** By choice. */
  readonly #finish_reasons: string[] = [];
  #hasAnswered = false;
  #first_chunk_ms: number | undefined;
  #last_chunk_ms = 0;
  #chunkTimes: HistogramSeries | undefined;
  #end_ms: number | undefined;

  constructor(exchange: Exchange, upstream: Upstream, metrics: ClientMetrics, attempt: RunningAttempt) {
    this.#exchange = exchange;
    this.#provider = upstream.provider.name;
    this.#metrics = metrics;
    this.#attempt = attempt;
    this.#span = exchange.span;
    if (exchange.trace_id === undefined) return;
    this.#span = startChildSpan(exchange.span, `chat ${upstream.target.model}`, SpanKind.CLIENT, {});
    this.#isRecorded = isRecorded(this.#span);
    if (!this.#isRecorded) return;
    describeSpan(this.#span, () => requestAttributes(exchange, upstream));
    this.#identity = new ReplyIdentity();
    const { content } = upstream.provider;
    const capture = () => ContentCapture.of(this.#span, content, exchange.request.messages);
    this.#content = unlessTracingFails(capture, undefined);
  }

  /** Headers that carry the trace to the upstream. */
  get headers(): Readonly<Record<string, string>> {
    return traceHeaders(this.#span);
  }

  /** `decoder`, or where the span is recorded one that shows it the id and model of the reply. */
  decoderOf(decoder: StreamDecoder): StreamDecoder {
    return this.#identity?.ofStream(decoder) ?? decoder;
  }

  /** `adapter` for a whole reply, or where the span is recorded one that shows it the id and model of the reply. */
  adapterOf(adapter: Adapter): Pick<Adapter, 'decodeReply'> {
    return this.#identity?.ofReply(adapter) ?? adapter;
  }

  /** Notes chunks of the answer, which have arrived together. */
  chunks(chunks: readonly Chunk[]): void {
    if (chunks.length === 0) return;
    const now_ms = this.#exchange.clock.elapsed_ms();
    if (!this.#chunkTimes) this.#began();
    else
      this.#chunkTimes.observe(
        (now_ms - this.#last_chunk_ms) / 1000 / chunks.length,
        undefined,
        chunks.length,
      );
    this.#last_chunk_ms = now_ms;
    if (!this.#isRecorded) return;
    for (const { choices } of chunks) {
      for (const { index, delta, finish_reason } of choices) {
        this.#hasAnswered = true;
        if (finish_reason !== null) this.#finish_reasons[index] = finish_reason;
        this.#content?.said(index, delta);
      }
    }
  }

  /** Notes a whole answer. */
  reply({ choices }: Completion): void {
    if (!this.#isRecorded) return;
    for (const { index, message, finish_reason } of choices) {
      this.#hasAnswered = true;
      this.#finish_reasons[index] = finish_reason;
      this.#content?.said(index, message);
    }
  }

  /** Notes the end of the attempt, as it is recorded; its usage may not be known yet. */
  ended(): void {
    const { duration_ms = 0, error_type, status } = this.#attempt;
    this.#metrics.attempted(this.#exchange, this.#provider, duration_ms, error_type, status);
    if (this.#isRecorded) this.#end_ms = performance.now();
  }

  /** Closes the span without usage, because another attempt follows. */
  superseded(): void {
    if (!this.#isRecorded) return;
    this.#describeReply();
    endSpan(this.#span, this.#attempt.error_type, this.#end_ms);
  }

  /** Closes the span with the exchange's usage, at the time at which the attempt ended. */
  settled(): void {
    if (!this.#isRecorded) return;
    describeSpan(this.#span, () => usageAttributes(this.#exchange.usage));
    this.superseded();
  }

  #describeReply(): void {
    const first_chunk_ms = this.#first_chunk_ms;
    const finish_reasons = this.#allFinishReasons();
    unlessTracingFails(() => this.#content?.end(finish_reasons), undefined);
    describeSpan(this.#span, () => ({
      ...attemptAttributes(this.#attempt),
      ...this.#identity?.attributes,
      'gen_ai.response.finish_reasons': finish_reasons,
      'gen_ai.response.time_to_first_chunk': first_chunk_ms === undefined ? undefined : first_chunk_ms / 1000,
    }));
  }

  /** A reason for each choice that was asked for, once one has begun; `error` for one that did not come to its end. */
  #allFinishReasons(): string[] | undefined {
    if (!this.#hasAnswered) return undefined;
    const { n = 1 } = this.#exchange.request;
    return Array.from({ length: n }, (_, index) => this.#finish_reasons[index] ?? 'error');
  }

  #began(): void {
    this.#first_chunk_ms = this.#attempt.elapsed_ms;
    this.#metrics.firstChunk(this.#exchange, this.#provider, this.#first_chunk_ms);
    this.#chunkTimes = this.#metrics.chunkTime(this.#exchange, this.#provider);
  }
}
