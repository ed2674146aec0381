import { type Span, SpanKind } from '@opentelemetry/api';
import type { Exchange } from '../../exchange.ts';
import type { ClientMetrics } from '../../telemetry/client-metrics.ts';
import { endSpan, startChildSpan, traceHeaders } from '../../telemetry/tracing.ts';
import { usageAttributes } from '../attempt/attempt-telemetry.ts';
import type { Provider } from '../http/provider.ts';

/** Metrics and span of one call that is passed through, with the GenAI attributes that are known of it. */
export class PassthroughTelemetry {
  readonly #exchange: Exchange;
  readonly #provider: Provider;
  readonly #metrics: ClientMetrics;
  readonly #sent_ms: number;
  readonly #span: Span;

  /** `path` is the rule's, which names the span. */
  constructor(exchange: Exchange, provider: Provider, path: string, metrics: ClientMetrics) {
    this.#exchange = exchange;
    this.#provider = provider;
    this.#metrics = metrics;
    this.#sent_ms = exchange.clock.elapsed_ms();
    exchange.operation = operationOf(exchange.path);
    this.#span = startChildSpan(exchange.span, `${exchange.method} ${path}`, SpanKind.CLIENT, {
      'gen_ai.operation.name': exchange.operation,
      'gen_ai.provider.name': provider.adapter.providerName,
      'server.address': provider.address.host,
      'server.port': provider.address.port,
    });
  }

  /** Headers that carry the trace to the upstream. */
  get headers(): Record<string, string> {
    return traceHeaders(this.#span);
  }

  /** Notes that the reply has begun, or the call has failed; the first call counts. */
  waited(): void {
    this.#exchange.upstream_wait_ms ||= this.#elapsed_ms;
  }

  /** Notes the end of the call, with the kind of its failure. */
  ended(kind: string | undefined): void {
    const { model, usage } = this.#exchange;
    this.#metrics.attempted(this.#exchange, this.#provider.name, this.#elapsed_ms, kind);
    if (this.#span.isRecording() && !usage.estimated) {
      this.#span.setAttributes({ 'gen_ai.request.model': model?.id, ...usageAttributes(usage) });
    }
    endSpan(this.#span, kind);
  }

  get #elapsed_ms(): number {
    return this.#exchange.clock.elapsed_ms() - this.#sent_ms;
  }
}

/** The operation of a path in the GenAI conventions; undefined for one that they have no word for. */
function operationOf(path: string): string | undefined {
  if (path.endsWith('/embeddings')) return 'embeddings';
  return path.endsWith('/completions') ? 'text_completion' : undefined;
}
