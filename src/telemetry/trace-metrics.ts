import type { Registry } from 'prom-client';
import { MetricFactory } from './metric-factory.ts';

const dropReasons = [
  'queue_full',
  'failed', // the collector did not answer in time, or refused the whole batch
  'rejected', // by the collector, out of a batch that it took
] as const;

/** Why a span never reached the collector. */
export type SpanDropReason = (typeof dropReasons)[number];

/** What is counted of the spans that this process sends. */
export interface SpanCounts {
  sent(spans: number): void;
  dropped(spans: number, reason: SpanDropReason): void;
}

/** The counts of spans on a registry that the caller owns; there where this process sends spans itself. */
export class TraceMetrics implements SpanCounts {
  readonly #sent;
  readonly #dropped;

  constructor(registry: Registry) {
    const metrics = new MetricFactory(registry);
    this.#sent = metrics.counter({
      name: 'sluice_spans_sent_total',
      help: 'Spans that the collector took.',
    });
    this.#dropped = metrics.counter({
      name: 'sluice_spans_dropped_total',
      help: 'Spans that the collector will never have.',
      labels: ['reason'],
    });
    // There from the beginning, so that the first span that is lost is seen as an increase.
    for (const reason of dropReasons) this.#dropped.labels(reason);
  }

  sent(spans: number): void {
    this.#sent.labels().inc(spans);
  }

  dropped(spans: number, reason: SpanDropReason): void {
    this.#dropped.labels(reason).inc(spans);
  }
}
