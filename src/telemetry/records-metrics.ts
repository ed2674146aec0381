import type { Registry } from 'prom-client';
import { MetricSet } from './metric-factory.ts';
import { StoreMetrics } from './store-metrics.ts';

const dropReasons = [
  'queue_full',
  'unbilled', // an exchange that cost nothing, dropped to leave room for those that did
  'refused', // by the store, and it always would be
  'lost', // at the end of the process, with store and disk both out
] as const;

/** Why a row never reached the ledger. */
export type DropReason = (typeof dropReasons)[number];

/** Operations of the records store while requests run. The ledger knows more of its inserts than whether one failed. */
const operations = [
  'key_lookup',
  'account_lookup',
  'changes', // the poll for changed keys and accounts
  'key_uses', // writes when keys were last used
  'past_usage', // reads what accounts used before this process started
] as const;
type RecordsOperation = (typeof operations)[number] | 'ledger_insert';

/** Metrics of the records store and the ledger; all labels are closed sets. */
export class RecordsMetrics extends MetricSet {
  readonly ledgerQueue = this.setting({
    name: 'sluice_ledger_queue_rows',
    help: 'Settled exchanges waiting to be written to the ledger.',
    labels: ['place'],
  });
  readonly ledgerWritten = this.adding({
    name: 'sluice_ledger_rows_total',
    help: 'Settled exchanges written to the ledger.',
  });
  readonly ledgerDropped = this.adding({
    name: 'sluice_ledger_dropped_total',
    help: 'Settled exchanges lost before they reached the ledger.',
    labels: ['reason'],
    initial: dropReasons.map(reason => [reason] as const),
  });
  readonly #oldestAge = this.metrics.gauge({
    name: 'sluice_ledger_oldest_row_age_seconds',
    help: 'Age of the oldest settled exchange that is not in the ledger, in memory or on disk; 0 if none waits.',
    aggregator: 'max',
  });
  readonly pruned = this.adding({
    name: 'sluice_records_pruned_total',
    help: 'Ledger rows and usage sums deleted after stores.retention.',
    labels: ['kind'],
  });
  readonly registry: Registry;
  readonly #store;
  readonly #health;

  constructor(registry: Registry) {
    super(registry);
    this.registry = registry;
    this.#store = new StoreMetrics(registry);
    this.#health = this.#store.health('records', operations);
    this.ledgerWrites(true);
  }

  /** Times `ask`, an operation of the store, and shows whether it succeeds; of inserts `ledgerWrites` does. */
  async timed<T>(operation: RecordsOperation, ask: () => Promise<T>): Promise<T> {
    const started_ms = performance.now();
    try {
      const answer = await ask();
      if (operation !== 'ledger_insert') this.#health.succeeded(operation);
      return answer;
    } catch (thrown) {
      if (operation !== 'ledger_insert') this.#health.failed(operation);
      this.#store.failed('records', operation);
      throw thrown;
    } finally {
      this.#store.asked('records', operation, performance.now() - started_ms);
    }
  }

  /** Shows the age of a ledger's oldest waiting row until the returned function is called; of several ledgers the oldest. */
  watchLedger(age_ms: () => number): () => void {
    return this.#oldestAge.collect(() => [{ labels: {}, value: age_ms() / 1000 }]);
  }

  /** Shows whether the ledger can be written. */
  ledgerWrites(up: boolean): void {
    this.#store.up('records', 'ledger_insert', up);
  }
}
