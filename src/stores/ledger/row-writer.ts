import type { Log } from '../../telemetry/log.ts';
import type { RecordsMetrics } from '../../telemetry/records-metrics.ts';
import { StoreUnavailable } from '../records/database.ts';
import type { LedgerRecords, LedgerRow } from '../records/ledger-records.ts';
import type { DropCount } from './drop-count.ts';

/** Writes rows to the records store, all but those that it will never take. */
export class RowWriter {
  readonly #records: Pick<LedgerRecords, 'insert'>;
  readonly #metrics: RecordsMetrics;
  readonly #drops: DropCount;
  readonly #log: Log;

  constructor(records: Pick<LedgerRecords, 'insert'>, metrics: RecordsMetrics, drops: DropCount, log: Log) {
    this.#records = records;
    this.#metrics = metrics;
    this.#drops = drops;
    this.#log = log;
  }

  /** Rejects with StoreUnavailable. Rows that are refused are found by halves, counted and logged, so that they hold up no others. */
  async write(batch: readonly LedgerRow[]): Promise<void> {
    try {
      const added = await this.#metrics.timed('ledger_insert', () => this.#records.insert(batch));
      this.#metrics.ledgerWritten(added);
    } catch (fault) {
      if (fault instanceof StoreUnavailable) throw fault;
      if (batch.length === 1) {
        this.#log.error({ err: fault, row: batch[0] }, 'the records store refuses a row of the ledger');
        return this.#drops.add(1, 'refused');
      }
      const half = Math.ceil(batch.length / 2);
      await this.write(batch.slice(0, half));
      await this.write(batch.slice(half));
    }
  }

  /** The same, but for a store that takes longer than `patience_ms`; what it does with the rows afterwards is not waited for. */
  async writeWithin(batch: readonly LedgerRow[], patience_ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const fault = new StoreUnavailable('the records store is slow');
      timer = setTimeout(() => reject(fault), patience_ms);
    });
    const writing = this.write(batch);
    writing.catch(() => {});
    await Promise.race([writing, late]).finally(() => clearTimeout(timer));
  }
}
