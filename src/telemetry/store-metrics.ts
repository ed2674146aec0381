import { MetricSet } from './metric-factory.ts';
import { StoreHealth } from './store-health.ts';

const operationBuckets_s = [
  1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
];

const labels = ['store', 'operation'] as const;

/** Metrics of the stores: `state`, if shared with other instances, and `records`. */
export class StoreMetrics extends MetricSet {
  readonly #duration = this.metrics.histogram({
    name: 'sluice_store_operation_duration_seconds',
    help: 'Duration of an operation of a store, until its answer.',
    labels,
    buckets: operationBuckets_s,
  });
  /** Counts an operation that failed. */
  readonly failed = this.counting({
    name: 'sluice_store_errors_total',
    help: 'Operations of a store that failed or timed out.',
    labels,
  });
  readonly #up = this.metrics.gauge({
    name: 'sluice_store_up',
    help: '1 while an operation of a store succeeds; 0 from a failure to its next success, for 45 s if it is not tried again, and while the circuit breaker is open.',
    aggregator: 'min',
    labels,
  });
  /** By store and operation, the servers on which it fails. */
  readonly #down = new Map<string, Set<object>>();
  readonly #outages = this.metrics.counter({
    name: 'sluice_store_outages_total',
    help: 'Times the circuit breaker of a store opened, once for all operations that failed.',
    labels: ['store'],
  });
  /** Counts an exchange that was decided without the store. */
  readonly decidedAlone = this.counting({
    name: 'sluice_state_alone_total',
    help: 'Exchanges decided without the state store, by on_state_store_down policy.',
    labels: ['policy'],
  });
  /** How many exchanges the store does not know of yet. */
  readonly settlementsWaiting = this.setting({
    name: 'sluice_state_settlements_waiting',
    help: 'Exchanges decided without the state store whose use it does not know yet.',
  });
  /** How many instances share the store. */
  readonly instances = this.setting({
    name: 'sluice_state_instances',
    help: 'Instances that share the state store, at the last heartbeat.',
    aggregator: 'max',
  });

  /** Notes the duration of an operation. */
  asked(store: string, operation: string, duration_ms: number): void {
    this.#duration.labels(store, operation).observe(duration_ms / 1000);
  }

  /**
   * Shows these operations of a store as available, until one of them fails. A store of several servers has one for each: an operation is
   * shown as available while it is on all of them.
   */
  health<Operation extends string>(store: string, operations: readonly Operation[]): StoreHealth<Operation> {
    const server = {};
    return new StoreHealth(operations, (operation, up) => {
      const name = `${store} ${operation}`;
      const down = this.#down.get(name) ?? new Set();
      this.#down.set(name, down);
      if (up) down.delete(server);
      else down.add(server);
      this.up(store, operation, down.size === 0);
    });
  }

  /** Shows whether an operation is available. */
  up(store: string, operation: string, up: boolean): void {
    this.#up.labels(store, operation).set(up ? 1 : 0);
  }

  /** Creates the series of a circuit breaker, so that the first outage is seen as an increase. */
  prepareOutages(store: string): void {
    this.#outages.labels(store);
  }

  /** Counts an outage. */
  breakerOpened(store: string): void {
    this.#outages.labels(store).inc();
  }
}
