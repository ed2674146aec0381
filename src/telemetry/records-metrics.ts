import { Gauge, type Registry } from 'prom-client';
import { SeriesCounter, SeriesHistogram } from './series.ts';

const buckets_s = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Why a row never reached the ledger. */
export type DropReason =
  | 'queue_full'
  | 'unbilled' // an exchange that cost nothing, dropped to leave room for those that did
  | 'refused' // by the store, and it always would be
  | 'lost'; // at the end of the process, with store and disk both out

/** What is asked of the records store while requests run. */
export type RecordsOperation = 'key_lookup' | 'changes' | 'ledger_insert';

/** What is counted of the records store and the ledger; all labels are closed sets. */
export class RecordsMetrics {
  static readonly #onRegistry = new WeakMap<Registry, RecordsMetrics>();

  /** The metrics on `registry`, which several gateways of one process may share. */
  static on(registry: Registry): RecordsMetrics {
    let metrics = RecordsMetrics.#onRegistry.get(registry);
    if (!metrics) RecordsMetrics.#onRegistry.set(registry, (metrics = new RecordsMetrics(registry)));
    return metrics;
  }

  readonly #up;
  readonly #duration;
  readonly #queue;
  readonly #written;
  readonly #dropped;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#up = new Gauge({
      name: 'sluice_records_store_up',
      help: 'Whether the records store answered what it was asked last.',
      registers,
    });
    this.#up.set(1);
    this.#duration = new SeriesHistogram(
      {
        name: 'sluice_records_store_duration_seconds',
        help: 'How long the records store took to answer.',
        labelNames: ['operation', 'result'],
        registers,
      },
      buckets_s,
    );
    this.#queue = new Gauge({
      name: 'sluice_ledger_queue_rows',
      help: 'Settled exchanges that are not in the ledger yet.',
      labelNames: ['place'],
      registers,
    });
    this.#written = new SeriesCounter({
      name: 'sluice_ledger_rows_total',
      help: 'Settled exchanges that were written to the ledger.',
      labelNames: [],
      registers,
    });
    this.#dropped = new SeriesCounter({
      name: 'sluice_ledger_dropped_total',
      help: 'Settled exchanges that will never be in the ledger.',
      labelNames: ['reason'],
      registers,
    });
  }

  /** Times what `ask` asks of the store. */
  async timed<T>(operation: RecordsOperation, ask: () => Promise<T>): Promise<T> {
    const started_ms = performance.now();
    const answered = (result: 'ok' | 'error') => {
      this.#up.set(result === 'ok' ? 1 : 0);
      this.#duration.series(operation, result).observe((performance.now() - started_ms) / 1000);
    };
    try {
      const answer = await ask();
      answered('ok');
      return answer;
    } catch (thrown) {
      answered('error');
      throw thrown;
    }
  }

  ledgerQueue(place: 'memory' | 'disk', rows: number): void {
    this.#queue.set({ place }, rows);
  }

  ledgerWritten(rows: number): void {
    this.#written.add(rows);
  }

  ledgerDropped(rows: number, reason: DropReason): void {
    this.#dropped.add(rows, reason);
  }
}
