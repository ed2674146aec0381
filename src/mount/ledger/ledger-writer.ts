import { RepeatingTask } from '../../common/repeating-task.ts';
import { within } from '../../common/within.ts';
import type { LedgerEntry } from '../../gateway/settlement/ledger-entry.ts';
import type { LedgerRecords } from '../../records/ledger-records.ts';
import { StoreUnavailable } from '../../records/record-errors.ts';
import type { Surroundings } from '../../telemetry/surroundings.ts';
import type { DiskQueue } from './disk-queue.ts';
import { LedgerFaults } from './ledger-faults.ts';
import { isUnbilled, type LostRows } from './lost-rows.ts';

/** Interval of checks of an empty queue file, where another process may have left rows, and of one that cannot be used. */
const idle_ms = 30_000;

export interface LedgerWriterSetup extends Surroundings {
  readonly records: Pick<LedgerRecords, 'insert'>;
  readonly disk: DiskQueue | undefined;
  readonly lost: LostRows;
  readonly batch_rows: number;
  readonly patience_ms: number;
  readonly retry_ms: number;
  /** How many rows wait in memory. */
  readonly inMemory: () => number;
}

/**
 * Writes rows to the records store, or to the queue on disk while the store is down or slow, and moves them from there to the store once it
 * answers. Several processes may share one queue: the store writes a row once, however often it is sent.
 */
export class LedgerWriter {
  readonly #setup: LedgerWriterSetup;
  readonly #faults: LedgerFaults;
  readonly #drain = new RepeatingTask(() => this.#moveBatch());
  /** The last run has moved rows: the store answers. */
  #hasMoved = false;

  constructor(setup: LedgerWriterSetup) {
    this.#setup = setup;
    this.#faults = new LedgerFaults(setup, setup.disk?.path);
  }

  /** A line for operators about each fault that keeps rows from the store now. */
  get conditions(): string[] {
    const { disk, inMemory } = this.#setup;
    return this.#faults.conditions(disk?.rows ?? 0, inMemory());
  }

  /** Moves the rows that an earlier process has left on disk. */
  start(): void {
    if (this.#setup.disk) this.#drain.runIn(0);
  }

  /** Stops moving rows, after the batch that is being written. */
  close(): Promise<void> {
    return this.#drain.close();
  }

  /** Moves what is on disk as long as the store accepts it, also when closed. */
  async moveAll(): Promise<void> {
    if (!this.#setup.disk) return;
    do await this.#drain.run();
    while (this.#hasMoved);
  }

  /** Writes to the store, or to the disk first while the store is known to be out. False if the rows must wait in memory. */
  async write(batch: readonly LedgerEntry[]): Promise<boolean> {
    const { disk, patience_ms } = this.#setup;
    const usable = this.#faults.queue ? undefined : disk;
    if (usable && this.#faults.store) return (await this.#queue(batch, usable)) || this.#store(batch);
    if (await this.#store(batch, usable && patience_ms)) return true;
    if (disk) return this.#queue(batch, disk);
    this.#faults.waitingIn('memory');
    return false;
  }

  /**
   * False if the store is down, or takes longer than `limit_ms`: it may still write the rows. Without a disk that can be used there is no
   * limit.
   */
  async #store(batch: readonly LedgerEntry[], limit_ms?: number): Promise<boolean> {
    try {
      const late = () => new StoreUnavailable(`no answer within ${limit_ms} ms`);
      const inserted = this.#insert(batch);
      await (limit_ms === undefined ? inserted : within(inserted, limit_ms, late));
    } catch (fault) {
      this.#faults.storeFailed(fault);
      return false;
    }
    if (this.#faults.store) {
      this.#faults.wrote(batch.length);
      this.#faults.allWritten();
    }
    return true;
  }

  async #queue(batch: readonly LedgerEntry[], disk: DiskQueue): Promise<boolean> {
    const { lost, metrics, retry_ms } = this.#setup;
    try {
      const refused = Map.groupBy(await disk.append(batch), row =>
        isUnbilled(row) ? 'unbilled' : 'queue_full',
      );
      for (const [reason, rows] of refused) lost.add(rows, reason);
      metrics.ledgerQueue(disk.rows, 'disk');
      this.#faults.queueWorks();
      this.#faults.waitingIn('disk');
      return true;
    } catch (fault) {
      this.#faults.queueFailed(fault);
      this.#faults.waitingIn('memory');
      return false;
    } finally {
      this.#drain.runIn(retry_ms);
    }
  }

  /** Rejects with StoreUnavailable. Rows that the store refuses are lost, and logged. */
  async #insert(batch: readonly LedgerEntry[]): Promise<void> {
    const { records, metrics, lost } = this.#setup;
    const insert = async (rows: readonly LedgerEntry[]) => {
      const added = await metrics.timed('ledger_insert', () => records.insert(rows));
      metrics.ledgerWritten(added);
      return added;
    };
    await insertAccepted(insert, batch, (row, fault) => lost.add([row], 'refused', fault));
  }

  /** Moves a batch from the queue to the store. Returns in how many milliseconds to look again. */
  async #moveBatch(): Promise<number> {
    const { inMemory, metrics, retry_ms, batch_rows } = this.#setup;
    const disk = this.#setup.disk!;
    const hadMoved = this.#hasMoved;
    this.#hasMoved = false;
    try {
      const batch = disk.exists ? await disk.first(batch_rows) : [];
      metrics.ledgerQueue(disk.rows, 'disk');
      if (batch.length > 0) return await disk.undisturbed(() => this.#move(batch, disk));
    } catch (fault) {
      this.#faults.queueFailed(fault);
      return idle_ms;
    }
    // Rows in memory have not been tried: nothing is known about the store.
    if (!hadMoved && this.#faults.store && inMemory() > 0) return retry_ms;
    this.#faults.allWritten();
    await this.#releaseSpace(disk);
    return idle_ms;
  }

  /** Rejects where the rows are written and cannot be removed. */
  async #move(batch: readonly LedgerEntry[], disk: DiskQueue): Promise<number> {
    try {
      await this.#insert(batch);
    } catch (fault) {
      this.#faults.storeFailed(fault);
      return this.#setup.retry_ms;
    }
    this.#faults.wrote(batch.length);
    await disk.remove(batch);
    this.#faults.queueWorks();
    this.#setup.metrics.ledgerQueue(disk.rows, 'disk');
    this.#hasMoved = true;
    return 0;
  }

  /** Gives the space of an empty queue back, which also shows whether the file can be written again. */
  async #releaseSpace(disk: DiskQueue): Promise<void> {
    if (!disk.isSparse && !this.#faults.queue) return;
    await disk.vacuum().then(
      () => this.#faults.queueWorks(),
      // Another process uses it just now, or the fault is known.
      () => {},
    );
  }
}

/**
 * Inserts rows but those that the store refuses: these are found by bisection and passed to `refused`, so that they do not block others.
 * Returns how many were new. Rejects with StoreUnavailable; the same rows may be inserted again.
 */
export async function insertAccepted(
  insert: LedgerRecords['insert'],
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
