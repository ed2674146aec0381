import type { Registry } from 'prom-client';
import { MetricFactory } from './metric-factory.ts';

/** Fate of a span: accepted by the collector, dropped because the queue was full, or lost with a failed export. */
export type SpanFate = 'sent' | 'queue_full' | 'failed';

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
