import type { PluginMetrics } from '../../src/plugin.ts';

/** Metrics of notices, with closed sets of labels. */
export class NoticeMetrics {
  readonly #deliveries;
  readonly #waiting;

  constructor(metrics: PluginMetrics) {
    const kinds = ['webhook', 'mail'] as const;
    const results = ['sent', 'retried', 'failed'] as const;
    this.#deliveries = metrics.counter({
      name: 'deliveries_total',
      help: 'Attempts to deliver notices: taken by the receiver, to be tried again, or given up.',
      labels: ['kind', 'result'],
      initial: kinds.flatMap(kind => results.map(result => [kind, result] as const)),
    });
    this.#waiting = metrics.gauge({
      name: 'waiting',
      help: 'Deliveries of notices that wait to be tried, of all instances.',
      aggregator: 'max',
    });
  }

  /** Counts an attempt. */
  delivered(target: string, result: 'sent' | 'retried' | 'failed'): void {
    this.#deliveries.labels(target.startsWith('mail:') ? 'mail' : 'webhook', result).inc();
  }

  /** Shows how many deliveries wait. */
  waiting(deliveries: number): void {
    this.#waiting.labels().set(deliveries);
  }
}
