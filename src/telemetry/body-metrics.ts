import type { Registry } from 'prom-client';
import { MetricFactory } from './metric-factory.ts';

/** Which bound of buffered bytes refused a body. */
export type BufferBound = 'account' | 'total';

/** What is counted of request bodies held in memory. */
export class BodyMetrics {
  readonly #buffered;
  readonly #refusals;

  constructor(registry: Registry) {
    const metrics = new MetricFactory(registry);
    this.#buffered = metrics.gauge({
      name: 'sluice_buffered_request_bytes',
      help: 'Bytes of request bodies held in memory, from their arrival to the end of their exchange.',
    });
    this.#refusals = metrics.counter({
      name: 'sluice_buffer_refusals_total',
      help: 'Request bodies refused because max_buffered_bytes or max_buffered_bytes_per_account was reached.',
      labels: ['bound'],
    });
    // There from the beginning, so that the first refusal is seen as an increase.
    for (const bound of ['account', 'total'] satisfies BufferBound[]) this.#refusals.labels(bound);
  }

  buffered(change_bytes: number): void {
    this.#buffered.labels().inc(change_bytes);
  }

  refused(bound: BufferBound): void {
    this.#refusals.labels(bound).inc();
  }
}
