import { type Span, SpanKind } from '@opentelemetry/api';
import type { RunningAttempt } from '../../gateway/exchange/attempt-record.ts';
import type { Exchange } from '../../gateway/exchange/exchange.ts';
import {
  attemptAttributes,
  max_name_characters,
  providerAttributes,
  usageAttributes,
} from '../../gateway/upstream/attempt/gen-ai-attributes.ts';
import type { Provider } from '../../gateway/upstream/http/provider.ts';
import type { ClientMetrics } from '../../telemetry/client-metrics.ts';
import {
  describeSpan,
  endSpan,
  startChildSpan,
  traceHeaders,
  unlessTracingFails,
} from '../../telemetry/tracing.ts';

/** What a reply says of itself: its id and its model, if it does. */
export interface ReplyNames {
  readonly id?: string | undefined;
  readonly model?: string | undefined;
}

/** Metrics and span of one call that is passed through, with the GenAI attributes that are known of it. */
export class PassthroughTelemetry {
  readonly #exchange: Exchange;
  readonly #provider: Provider;
  readonly #metrics: ClientMetrics;
  readonly #attempt: RunningAttempt;
  readonly #span: Span;

  /** `path` is the rule's, which names the span. */
  constructor(
    exchange: Exchange,
    provider: Provider,
    path: string,
    metrics: ClientMetrics,
    attempt: RunningAttempt,
  ) {
    this.#exchange = exchange;
    this.#provider = provider;
    this.#metrics = metrics;
    this.#attempt = attempt;
    exchange.operation = operationOf(exchange.path);
    this.#span = startChildSpan(exchange.span, `${exchange.method} ${path}`, SpanKind.CLIENT, {});
    describeSpan(this.#span, () => ({
      'gen_ai.operation.name': exchange.operation,
      ...providerAttributes(provider),
      'http.request.method': exchange.method,
    }));
  }

  /** Headers that carry the trace to the upstream. */
  get headers(): Record<string, string> {
    return traceHeaders(this.#span);
  }

  /** Notes that the reply has begun, or the call has failed; the first call counts. */
  waited(): void {
    this.#exchange.upstream_wait_ms ||= this.#attempt.elapsed_ms;
  }

  /** Notes the end of the call, as it is recorded, with what the reply says of itself. */
  ended(reply: ReplyNames): void {
    const { elapsed_ms, error_type, status } = this.#attempt;
    this.#metrics.attempted(this.#exchange, this.#provider.name, elapsed_ms, error_type, status);
    this.#describe(reply);
    endSpan(this.#span, error_type);
  }

  #describe({ id, model: replyModel }: ReplyNames): void {
    const { model, usage, operation, attempts } = this.#exchange;
    // A model of the catalog only: a client can write any name.
    if (operation !== undefined && model)
      unlessTracingFails(() => this.#span.updateName(`${operation} ${model.id}`), this.#span);
    describeSpan(this.#span, () => ({
      ...attemptAttributes(this.#attempt),
      'sluice.attempt': attempts.length,
      'gen_ai.request.model': model?.id,
      'gen_ai.response.id': id?.slice(0, max_name_characters),
      'gen_ai.response.model': replyModel?.slice(0, max_name_characters),
      ...(!usage.estimated && usageAttributes(usage)),
    }));
  }
}

/** The operation of a path in the GenAI conventions; undefined for one that they have no word for. */
function operationOf(path: string): string | undefined {
  if (path.endsWith('/embeddings')) return 'embeddings';
  return path.endsWith('/completions') ? 'text_completion' : undefined;
}
