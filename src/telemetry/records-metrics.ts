import { Gauge, type Registry } from 'prom-client';
import { StoreUnavailable } from '../stores/records/database.ts';
import { SeriesCounter } from './series.ts';
import { StoreMetrics } from './store-metrics.ts';

const dropReasons = [
  'queue_full',
  'unbilled', // an exchange that cost nothing, dropped to leave room for those that did
  'refused', // by the store, and it always would be
  'lost', // at the end of the process, with store and disk both out
] as const;

/** Why a row never reached the ledger. */
export type DropReason = (typeof dropReasons)[number];

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

  readonly #store;
  readonly #queue;
  readonly #written;
  readonly #dropped;
  readonly #pruned;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#store = StoreMetrics.on(registry);
    this.#store.up('records', true, 'read');
    this.ledgerWrites(true);
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
    this.#pruned = new SeriesCounter({
      name: 'sluice_records_pruned_total',
      help: 'Rows of the ledger, and usage sums, deleted because stores.retention keeps them no longer.',
      labelNames: ['kind'],
      registers,
    });
    // There from the beginning, so that the first row that is lost is seen as an increase.
    for (const reason of dropReasons) this.#dropped.series(reason);
  }

  /** Times what `ask` asks of the store. A read also shows whether the store can be read; of writes the ledger knows more. */
  async timed<T>(operation: RecordsOperation, ask: () => Promise<T>): Promise<T> {
    const started_ms = performance.now();
    const answered = (up: boolean) => {
      if (operation !== 'ledger_insert') this.#store.up('records', up, 'read');
      this.#store.asked('records', operation, performance.now() - started_ms);
    };
    try {
      const answer = await ask();
      answered(true);
      return answer;
    } catch (thrown) {
      // A refusal is an answer.
      answered(!(thrown instanceof StoreUnavailable));
      this.#store.failed('records', operation);
      throw thrown;
    }
  }

  /** Whether the ledger can be written. */
  ledgerWrites(up: boolean): void {
    this.#store.up('records', up, 'write_ledger');
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

  pruned(kind: 'rows' | 'sums', count: number): void {
    this.#pruned.add(count, kind);
  }
}
