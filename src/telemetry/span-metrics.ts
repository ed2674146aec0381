import type { NodeSDK } from '@opentelemetry/sdk-node';
import type { Registry } from 'prom-client';
import { MetricFactory } from './metric-factory.ts';

type Reader = NonNullable<NonNullable<ConstructorParameters<typeof NodeSDK>[0]>['metricReaders']>[number];
type Producer = Parameters<Reader['setMetricProducer']>[0];

/** Fate of a span: accepted by the collector, dropped because the queue was full, or lost with a failed export. */
export type SpanFate = 'sent' | 'queue_full' | 'failed';

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

  /** The default one of each kind of instrument. */
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

/** Registers the counts of spans, for a process that exports spans itself; `count` returns those since its start. */
export function registerTraceMetrics(registry: Registry, count: (fate: SpanFate) => Promise<number>): void {
  const metrics = new MetricFactory(registry);
  const sent = metrics.counter({
    name: 'sluice_spans_sent_total',
    help: 'Spans exported to the OpenTelemetry collector.',
  });
  const dropped = metrics.counter({
    name: 'sluice_spans_dropped_total',
    help: 'Spans dropped because the export queue was full, or because their export failed.',
    labels: ['reason'],
  });
  sent.read(() => count('sent'));
  for (const reason of ['queue_full', 'failed'] as const) dropped.read(() => count(reason), reason);
}
