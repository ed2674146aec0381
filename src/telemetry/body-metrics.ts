import { MetricSet } from './metric-factory.ts';

/** The limit of buffered bytes that refused a body. */
export type BufferBound = 'account' | 'total';

/** Metrics of request bodies held in memory. */
export class BodyMetrics extends MetricSet {
  /** The one series of what is held. */
  readonly buffered = this.metrics
    .gauge({
      name: 'sluice_buffered_request_bytes',
      help: 'Memory that request bodies take, in bytes: as they arrived, parsed, and encoded for their upstream.',
    })
    .labels();
  readonly refused = this.counting({
    name: 'sluice_buffer_refusals_total',
    help: 'Request bodies refused because max_buffered_bytes or max_buffered_bytes_per_account was reached.',
    labels: ['bound'],
    initial: [['account'], ['total']],
  });
}
