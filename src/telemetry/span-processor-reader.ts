import type { NodeSDK } from '@opentelemetry/sdk-node';
import type { SpanFate } from './trace-metrics.ts';

type Reader = NonNullable<NonNullable<ConstructorParameters<typeof NodeSDK>[0]>['metricReaders']>[number];
type Producer = Parameters<Reader['setMetricProducer']>[0];

/** OpenTelemetry's name for spans that a processor is done with, and the attribute that says what went wrong. */
const [processed, failure] = ['otel.sdk.processor.span.processed', 'error.type'] as const;

/** Reads what the SDK counts of its own span processors, when it is asked. */
export class SpanProcessorReader implements Reader {
  #producer: Producer | undefined;

  /** Spans of this fate since the start of the process. */
  async count(fate: SpanFate): Promise<number> {
    const { resourceMetrics } = (await this.#producer?.collect()) ?? {};
    const metrics = resourceMetrics?.scopeMetrics.flatMap(scope => scope.metrics) ?? [];
    return metrics
      .filter(({ descriptor }) => descriptor.name === processed)
      .flatMap(({ dataPoints }) => dataPoints.map(({ attributes, value }) => ({ attributes, value })))
      .filter(({ attributes }) => fateOf(attributes[failure]) === fate)
      .reduce((sum, { value }) => sum + Number(value), 0);
  }

  setMetricProducer(producer: Producer): void {
    this.#producer = producer;
  }

  selectAggregation(): ReturnType<Reader['selectAggregation']> {
    return { type: 0 };
  }

  /** Cumulative. */
  selectAggregationTemporality(): ReturnType<Reader['selectAggregationTemporality']> {
    return 1;
  }

  selectCardinalityLimit(): number {
    return 100;
  }

  collect(): ReturnType<Reader['collect']> {
    return this.#producer!.collect();
  }

  async shutdown(): Promise<void> {}

  async forceFlush(): Promise<void> {}
}

function fateOf(error_type: unknown): SpanFate {
  if (error_type === undefined) return 'sent';
  return error_type === 'queue_full' ? 'queue_full' : 'failed';
}
