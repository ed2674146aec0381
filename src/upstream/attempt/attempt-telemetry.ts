import { type Attributes, type Span, SpanKind } from '@opentelemetry/api';
import type { Chunk, Completion } from '../../canonical.ts';
import type { Exchange } from '../../exchange.ts';
import type { ClientMetrics } from '../../telemetry/client-metrics.ts';
import { ContentCapture } from '../../telemetry/content-capture.ts';
import type { HistogramSeries } from '../../telemetry/metric-series.ts';
import { endSpan, startChildSpan, traceHeaders } from '../../telemetry/tracing.ts';
import type { Upstream } from '../routing/upstream.ts';

/** Metrics of one attempt, and its span `chat {model}` below the exchange's, with the GenAI attributes. */
export class AttemptTelemetry {
  readonly #exchange: Exchange;
  readonly #provider: string;
  readonly #metrics: ClientMetrics;
  readonly #sent_ms: number;
  readonly #span: Span;
  readonly #content: ContentCapture | undefined;
  readonly #finish_reasons: string[] = [];
  #first_chunk_ms: number | undefined;
  #last_chunk_ms = 0;
  #chunkTimes: HistogramSeries | undefined;
  #error_type: string | undefined;
  #end_epoch_ms: number | undefined;

  constructor(exchange: Exchange, upstream: Upstream, metrics: ClientMetrics) {
    this.#exchange = exchange;
    this.#provider = upstream.provider.name;
    this.#metrics = metrics;
    this.#sent_ms = exchange.clock.elapsed_ms();
    this.#span = startChildSpan(exchange.span, `chat ${upstream.target.model}`, SpanKind.CLIENT, {});
    if (!this.#span.isRecording()) return;
    this.#span.setAttributes(requestAttributes(exchange, upstream));
    this.#content = ContentCapture.of(this.#span, upstream.provider.content, exchange.request.messages);
  }

  /** Headers that carry the trace to the upstream. */
  get headers(): Record<string, string> {
    return traceHeaders(this.#span);
  }

  /** Milliseconds since the request was sent. */
  get elapsed_ms(): number {
    return this.#exchange.clock.elapsed_ms() - this.#sent_ms;
  }

  /** Notes chunks of the answer, which have arrived together. */
  chunks(chunks: readonly Chunk[]): void {
    if (chunks.length === 0) return;
    this.#arrived(chunks.length);
    if (!this.#span.isRecording()) return;
    for (const { choices } of chunks) {
      for (const { delta, finish_reason } of choices) {
        if (finish_reason !== null) this.#finish_reasons.push(finish_reason);
        this.#content?.said(delta);
      }
    }
  }

  /** Notes a whole answer. */
  reply({ choices }: Completion): void {
    for (const { message, finish_reason } of choices) {
      this.#finish_reasons.push(finish_reason);
      this.#content?.said(message);
    }
  }

  /** Notes the end of the attempt, with the kind of its failure; its usage may not be known yet. */
  ended(error_type: string | undefined): void {
    this.#metrics.attempted(this.#exchange, this.#provider, this.elapsed_ms, error_type);
    this.#error_type = error_type;
    this.#end_epoch_ms = this.#exchange.clock.epoch_ms();
  }

  /** Closes the span without usage, because another attempt follows. */
  superseded(): void {
    this.#content?.end();
    endSpan(this.#span, this.#error_type, this.#end_epoch_ms);
  }

  /** Closes the span with the exchange's usage, at the time at which the attempt ended. */
  settled(): void {
    if (this.#span.isRecording()) this.#span.setAttributes(this.#answerAttributes());
    this.superseded();
  }

  #arrived(count: number): void {
    const now_ms = this.#exchange.clock.elapsed_ms();
    if (this.#chunkTimes) {
      this.#chunkTimes.observe((now_ms - this.#last_chunk_ms) / 1000 / count, undefined, count);
    } else {
      this.#first_chunk_ms = now_ms - this.#sent_ms;
      this.#metrics.firstChunk(this.#exchange, this.#provider, this.#first_chunk_ms);
      this.#chunkTimes = this.#metrics.chunkTime(this.#exchange, this.#provider);
    }
    this.#last_chunk_ms = now_ms;
  }

  #answerAttributes(): Attributes {
    const { usage } = this.#exchange;
    return {
      'gen_ai.response.finish_reasons': this.#finish_reasons.length > 0 ? this.#finish_reasons : undefined,
      'gen_ai.response.time_to_first_chunk': this.#first_chunk_ms && this.#first_chunk_ms / 1000,
      ...usageAttributes(usage),
      'gen_ai.usage.reasoning.output_tokens': usage.completion_details?.reasoning_tokens ?? 0,
    };
  }
}

/** Tokens of an exchange, as attributes of the span of the call that used them. */
export const usageAttributes = (usage: Exchange['usage']): Attributes => ({
  'gen_ai.usage.input_tokens': usage.prompt_tokens,
  'gen_ai.usage.output_tokens': usage.completion_tokens,
  'gen_ai.usage.cache_read.input_tokens': usage.cached_tokens,
  ...(usage.cache_creation_tokens !== undefined && {
    'gen_ai.usage.cache_creation.input_tokens': usage.cache_creation_tokens,
  }),
});

function requestAttributes({ request, attempts }: Exchange, { provider, target }: Upstream): Attributes {
  const { name, adapter, address } = provider;
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': adapter.providerName,
    'gen_ai.request.model': target.model,
    'sluice.provider': name,
    'sluice.attempt': attempts.length,
    'gen_ai.request.stream': request.stream,
    'server.address': address.host,
    'server.port': address.port,
    'gen_ai.request.max_tokens': request.max_tokens,
    'gen_ai.request.temperature': request.temperature,
    'gen_ai.request.stop_sequences': request.stop,
    'gen_ai.request.choice.count': request.n,
  };
}
