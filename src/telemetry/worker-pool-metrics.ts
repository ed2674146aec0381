import { MetricSet } from './metric-factory.ts';

/** The processes of `server.workers`, as their primary process sees them, or the only one. */
export class WorkerPoolMetrics extends MetricSet {
  readonly #workers = this.metrics.gauge({
    name: 'sluice_workers',
    help: 'Processes that serve a sidecar, by server.workers; state: ready, or not_ready, also while they start.',
    labels: ['state'],
  });
  readonly #restarts = this.metrics.counter({
    name: 'sluice_worker_restarts_total',
    help: 'Workers that ended without being asked to, and were replaced.',
  });

  /** Shows how many there are, at each scrape. */
  watch(count: () => { readonly ready: number; readonly all: number }): void {
    this.#workers.read(() => count().ready, 'ready');
    this.#workers.read(() => count().all - count().ready, 'not_ready');
  }

  /** Counts a worker that has ended without being asked to. */
  restarted(): void {
    this.#restarts.inc();
  }
}
