import type { RecordsMetrics } from '../../telemetry/records-metrics.ts';
import { isOutage, StoreUnavailable } from '../records/database.ts';
import type { LedgerEntry } from '../records/ledger-entry.ts';
import type { LedgerRecords } from '../records/ledger-records.ts';
import { within } from '../within.ts';
import type { LostRows } from './lost-rows.ts';

/** Inserts rows, and returns how many were new. */
export type InsertRows = LedgerRecords['insert'];

/**
 * Inserts rows but those that the store refuses: these are found by bisection and passed to `refused`, so that they do not block others.
 * Returns how many were new. Rejects with StoreUnavailable; the same rows may be inserted again.
 */
export async function insertAccepted(
  insert: InsertRows,
  rows: readonly LedgerEntry[],
  refused: (row: LedgerEntry, fault: unknown) => void,
): Promise<number> {
  try {
    return await insert(rows);
  } catch (fault) {
    if (fault instanceof StoreUnavailable) throw fault;
    if (rows.length === 1) {
      refused(rows[0]!, fault);
      return 0;
    }
    const half = Math.ceil(rows.length / 2);
    const first = await insertAccepted(insert, rows.slice(0, half), refused);
    return first + (await insertAccepted(insert, rows.slice(half), refused));
  }
}

/** Writes rows to the records store, and counts them. */
export class RowWriter {
  readonly #insert: InsertRows;
  readonly #lost: LostRows;

  constructor(records: Pick<LedgerRecords, 'insert'>, metrics: RecordsMetrics, lost: LostRows) {
    this.#insert = async rows => {
      const added = await metrics.timed('ledger_insert', () => records.insert(rows), isOutage);
      metrics.ledgerWritten(added);
      return added;
    };
    this.#lost = lost;
  }

  /** Rejects with StoreUnavailable. Rows that the store refuses are lost, and logged. */
  async write(batch: readonly LedgerEntry[]): Promise<void> {
    await insertAccepted(this.#insert, batch, (row, fault) => this.#lost.add([row], 'refused', fault));
  }

  /** The same, rejecting after `patience_ms`; the store may still write the rows. */
  async writeWithin(batch: readonly LedgerEntry[], patience_ms: number): Promise<void> {
    const late = () => new StoreUnavailable(`no answer within ${patience_ms} ms`);
    await within(this.write(batch), patience_ms, late);
  }
}
