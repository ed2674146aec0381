import type { LedgerEntry } from '../records/ledger-entry.ts';
import type { Surroundings } from '../records/surroundings.ts';
import type { DiskQueue } from './disk-queue.ts';
import type { LedgerFaults } from './ledger-faults.ts';
import type { RowWriter } from './row-writer.ts';

/** Interval of checks of an empty queue file: another process may have left rows there. */
const idle_ms = 30_000;
/** Interval of retries of a queue that could not be read. */
const unusable_ms = 30_000;

export interface QueueDrainSetup extends Pick<Surroundings, 'metrics'> {
  readonly disk: DiskQueue;
  readonly writer: RowWriter;
  readonly faults: LedgerFaults;
  readonly batch_rows: number;
  /** How often a store that is out is tried again. */
  readonly retry_ms: number;
  /** How many rows wait in memory. */
  readonly inMemory: () => number;
}

/**
 * Moves rows from the queue file to the store once it is available. Several processes may share one file: the store takes each row once.
 */
export class QueueDrain {
  readonly #setup: QueueDrainSetup;
  #timer: NodeJS.Timeout | undefined;
  #due_ms = 0;
  #draining: Promise<void> | undefined;
  #isClosed = false;

  constructor(setup: QueueDrainSetup) {
    this.#setup = setup;
  }

  /** Checks the queue in `wait_ms`, or sooner if that is due. */
  look(wait_ms = this.#setup.retry_ms): void {
    const due_ms = performance.now() + wait_ms;
    if (this.#isClosed || (this.#timer && this.#due_ms <= due_ms)) return;
    clearTimeout(this.#timer);
    this.#due_ms = due_ms;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      // It may have checked for the last time already, before the row came for which this check is due.
      if (this.#draining) return this.look();
      this.#draining = this.#drain().then(wait_ms => {
        this.#draining = undefined;
        this.look(wait_ms);
      });
    }, wait_ms).unref();
  }

  /** Ends after the batch that is being written. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#draining;
  }

  /** Moves rows until none are left. Returns in how many milliseconds to look again. Never rejects. */
  async #drain(): Promise<number> {
    const { disk, faults, metrics, retry_ms, inMemory } = this.#setup;
    let moved = 0;
    while (!this.#isClosed) {
      const batch = await this.#first();
      if (!batch) return unusable_ms;
      metrics.ledgerQueue('disk', disk.rows);
      if (batch.length === 0) {
        // Rows in memory have not been tried: nothing is known about the store.
        if (moved === 0 && faults.isStoreOut && inMemory() > 0) return retry_ms;
        faults.allWritten();
        await this.#release();
        return idle_ms;
      }
      let isRemoved: boolean;
      try {
        isRemoved = await disk.undisturbed(() => this.#move(batch));
      } catch (fault) {
        faults.storeFailed(fault);
        return retry_ms;
      }
      moved += batch.length;
      if (!isRemoved) return unusable_ms;
      metrics.ledgerQueue('disk', disk.rows);
    }
    return retry_ms;
  }

  /** Undefined where the queue cannot be read. */
  async #first(): Promise<LedgerEntry[] | undefined> {
    const { disk, faults, batch_rows } = this.#setup;
    if (!disk.exists) return [];
    return disk.first(batch_rows).catch(fault => void faults.queueFailed(fault));
  }

  /** Rejects with StoreUnavailable; false where the rows are written and cannot be removed. */
  async #move(batch: readonly LedgerEntry[]): Promise<boolean> {
    const { disk, faults, writer } = this.#setup;
    await writer.write(batch);
    faults.wrote(batch.length);
    try {
      await disk.remove(batch);
      faults.queueWorks();
      return true;
    } catch (fault) {
      faults.queueFailed(fault);
      return false;
    }
  }

  /** Gives the space of an empty queue back, which also shows whether the file can be written again. */
  async #release(): Promise<void> {
    const { disk, faults } = this.#setup;
    if (!disk.isSparse && !faults.isQueueOut) return;
    await disk.vacuum().then(
      () => faults.queueWorks(),
      // Another process uses it just now, or the fault is known.
      () => {},
    );
  }
}
