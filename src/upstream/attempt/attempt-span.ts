import { type Attributes, type Span, SpanKind } from '@opentelemetry/api';
import type { Chunk, Completion } from '../../canonical.ts';
import type { Exchange } from '../../exchange.ts';
import { ContentCapture } from '../../telemetry/content-capture.ts';
import { endSpan, startChildSpan, traceHeaders } from '../../telemetry/tracing.ts';
import type { Upstream } from '../routing/upstream.ts';

/** The span `chat {model}` of one attempt, below the exchange's, with the GenAI attributes (protocol l). */
export class AttemptSpan {
  readonly #exchange: Exchange;
  readonly #span: Span;
  /** Whether the span is recorded. */
  readonly observes: boolean;
  readonly #content: ContentCapture | undefined;
  readonly #finish_reasons: string[] = [];
  #started_ms = 0;
  #first_chunk_ms: number | undefined;
  #error_type: string | undefined;
  #end_epoch_ms: number | undefined;

  constructor(exchange: Exchange, upstream: Upstream) {
    this.#exchange = exchange;
    this.#span = startChildSpan(exchange.span, `chat ${upstream.target.model}`, SpanKind.CLIENT, {});
    this.observes = this.#span.isRecording();
    if (!this.observes) return;
    this.#started_ms = exchange.clock.elapsed_ms();
    this.#span.setAttributes(requestAttributes(exchange, upstream));
    this.#content = ContentCapture.of(this.#span, upstream.provider.content, exchange.request.messages);
  }

  /** Adds chunks of the answer; needed only if `observes`. */
  saw(chunks: readonly Chunk[]): void {
    if (this.#first_chunk_ms === undefined && chunks.length > 0)
      this.#first_chunk_ms = this.#exchange.clock.elapsed_ms() - this.#started_ms;
    for (const { choices } of chunks) {
      for (const { delta, finish_reason } of choices) {
        if (finish_reason !== null) this.#finish_reasons.push(finish_reason);
        this.#content?.said(delta);
      }
    }
  }

  /** Adds a whole answer. */
  answered({ choices }: Completion): void {
    for (const { message, finish_reason } of choices) {
      this.#finish_reasons.push(finish_reason);
      this.#content?.said(message);
    }
  }

  /** Headers that carry the trace to the upstream. */
  get headers(): Record<string, string> {
    return traceHeaders(this.#span);
  }

  /** Notes the end of the attempt; its usage may not be known yet. */
  ended(error_type: string | undefined): void {
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
    if (this.observes) {
      this.#content?.end();
      this.#span.setAttributes(this.#answerAttributes());
    }
    endSpan(this.#span, this.#error_type, this.#end_epoch_ms);
  }

  #answerAttributes(): Attributes {
    const { usage } = this.#exchange;
    return {
      'gen_ai.response.finish_reasons': this.#finish_reasons.length > 0 ? this.#finish_reasons : undefined,
      'gen_ai.response.time_to_first_chunk': this.#first_chunk_ms && this.#first_chunk_ms / 1000,
      'gen_ai.usage.input_tokens': usage.prompt_tokens,
      'gen_ai.usage.output_tokens': usage.completion_tokens,
      'gen_ai.usage.cache_read.input_tokens': usage.cached_tokens,
      'gen_ai.usage.reasoning.output_tokens': usage.completion_details?.reasoning_tokens ?? 0,
    };
  }
}

function requestAttributes({ request, attempts }: Exchange, { provider, target }: Upstream): Attributes {
  const { name, adapter, address } = provider;
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': adapter.providerName,
    'gen_ai.request.model': target.model,
    'sluice.provider': name,
    'sluice.attempt': attempts,
    'gen_ai.request.stream': request.stream,
    'server.address': address.host,
    'server.port': address.port,
    'gen_ai.request.max_tokens': request.max_tokens,
    'gen_ai.request.temperature': request.temperature,
    'gen_ai.request.stop_sequences': request.stop,
    'gen_ai.request.choice.count': request.n,
  };
}
