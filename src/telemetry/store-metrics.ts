import { Gauge, type Registry } from 'prom-client';
import { SeriesCounter, SeriesHistogram } from './series.ts';

const operationBuckets_s = [
  1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
];

const dropReasons = [
  'queue_full',
  'rejected', // by the store, again and again
  'too_late', // the store may have done it, and no longer remembers
] as const;

/** Why a settlement never reached the state store. */
export type SettlementDropReason = (typeof dropReasons)[number];

/** What is counted of the stores: `state`, where it is shared with other instances, and `records`. On a registry that the caller owns. */
export class StoreMetrics {
  static readonly #onRegistry = new WeakMap<Registry, StoreMetrics>();

  /** The metrics on `registry`, which several gateways of one process may share. */
  static on(registry: Registry): StoreMetrics {
    let metrics = StoreMetrics.#onRegistry.get(registry);
    if (!metrics) StoreMetrics.#onRegistry.set(registry, (metrics = new StoreMetrics(registry)));
    return metrics;
  }

  readonly #duration;
  readonly #errors;
  readonly #up;
  readonly #outages;
  readonly #alone;
  readonly #waiting;
  readonly #dropped;
  readonly #instances;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#duration = new SeriesHistogram(
      {
        name: 'sluice_store_operation_duration_seconds',
        help: 'From asking a store to its answer.',
        labelNames: ['store', 'operation'],
        registers,
      },
      operationBuckets_s,
    );
    this.#errors = new SeriesCounter({
      name: 'sluice_store_errors_total',
      help: 'Operations that a store did not do, or not in time.',
      labelNames: ['store', 'operation'],
      registers,
    });
    this.#up = new Gauge({
      name: 'sluice_store_up',
      help: '1 while a store does its work (of the state store: while it can be written), 0 while it is out; of records by operation.',
      labelNames: ['store', 'operation'],
      registers,
    });
    this.#outages = new SeriesCounter({
      name: 'sluice_store_outages_total',
      help: 'How often the circuit breaker of a store opened, each time once for all operations that failed.',
      labelNames: ['store'],
      registers,
    });
    this.#alone = new SeriesCounter({
      name: 'sluice_state_alone_total',
      help: 'Exchanges decided without the state store, by the policy that decided.',
      labelNames: ['policy'],
      registers,
    });
    this.#waiting = new Gauge({
      name: 'sluice_state_settlements_waiting',
      help: 'Settlements that wait for the state store to be back.',
      registers,
    });
    this.#dropped = new SeriesCounter({
      name: 'sluice_state_settlements_dropped_total',
      help: 'Settlements that the state store will never hear of; their reservations stay counted.',
      labelNames: ['reason'],
      registers,
    });
    // There from the beginning, so that the first that is lost is seen as an increase.
    for (const reason of dropReasons) this.#dropped.series(reason);
    this.#instances = new Gauge({
      name: 'sluice_state_instances',
      help: 'Instances that share the state store, as last heard.',
      registers,
    });
  }

  asked(store: string, operation: string, duration_ms: number): void {
    this.#duration.series(store, operation).observe(duration_ms / 1000);
  }

  failed(store: string, operation: string): void {
    this.#errors.add(1, store, operation);
  }

  up(store: string, up: boolean, operation = 'all'): void {
    this.#up.set({ store, operation }, up ? 1 : 0);
  }

  breakerOpened(store: string): void {
    this.#outages.add(1, store);
    this.up(store, false);
  }

  breakerClosed(store: string): void {
    // There before the first outage, so that this is seen as an increase.
    this.#outages.series(store);
    this.up(store, true);
  }

  decidedAlone(policy: string): void {
    this.#alone.add(1, policy);
  }

  settlementsWaiting(waiting: number): void {
    this.#waiting.set(waiting);
  }

  settlementsDropped(dropped: number, reason: SettlementDropReason): void {
    this.#dropped.add(dropped, reason);
  }

  instances(instances: number): void {
    this.#instances.set(instances);
  }
}
