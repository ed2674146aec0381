import type { LedgerEntry, LedgerRow } from '../records/ledger-entry.ts';
import type { LedgerRecords } from '../records/ledger-records.ts';
import type { Surroundings } from '../records/surroundings.ts';
import { endedWithin } from '../within.ts';
import type { DiskQueue } from './disk-queue.ts';
import { LedgerFaults } from './ledger-faults.ts';
import { isUnbilled, LostRows } from './lost-rows.ts';
import { QueueDrain } from './queue-drain.ts';
import { isRefusal, RefusalCounter } from './refusal-counter.ts';
import { RowWriter } from './row-writer.ts';

/** Documented in the README: what a crash can lose follows from `flush_ms` and `patience_ms`. */
export const ledgerDefaults = {
  /** Time for which rows are collected before they are written. */
  flush_ms: 250,
  /** Rows per transaction. */
  batch_rows: 500,
  /** Rows that may wait in memory. */
  max_waiting: 20_000,
  /** Time after which a slow store is bypassed: rows go to the disk, and from there to the store. */
  patience_ms: 1000,
  /** Interval of retries while the store is unavailable. */
  retry_ms: 1000,
  /** Time for which refusals are counted before the counts are written. */
  refusals_ms: 1000,
  /** Time limit of `close`; rows that are not written by then are logged. */
  close_ms: 8000,
};

export type LedgerOptions = Readonly<typeof ledgerDefaults>;

export interface LedgerSetup extends Surroundings {
  readonly records: Pick<LedgerRecords, 'insert'>;
  /** Queue for rows while the store is unavailable; without it they wait in memory. */
  readonly disk: DiskQueue | undefined;
  readonly options?: Partial<LedgerOptions>;
}

/**
 * Writes settled exchanges to the ledger, in batches and beside the requests: in memory for a moment, then in the store; on disk while
 * the store is out or slow, and from there to the store once it answers. A row that is sent twice is written once.
 */
export class Ledger {
  readonly #writer: RowWriter;
  readonly #disk: DiskQueue | undefined;
  readonly #drain: QueueDrain | undefined;
  readonly #faults: LedgerFaults;
  readonly #metrics: Surroundings['metrics'];
  readonly #options: LedgerOptions;
  readonly #lost: LostRows;
  readonly #refusals = new RefusalCounter();
  #refusalTimer: NodeJS.Timeout | undefined;
  #waiting: LedgerEntry[] = [];
  #flushTimer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;
  #isClosed = false;

  constructor({ records, disk, clock, metrics, log, options }: LedgerSetup) {
    this.#disk = disk;
    this.#metrics = metrics;
    this.#options = { ...ledgerDefaults, ...options };
    this.#lost = new LostRows(metrics, log);
    this.#faults = new LedgerFaults({ clock, log, metrics }, disk?.path);
    this.#writer = new RowWriter(records, metrics, this.#lost);
    const shared = { writer: this.#writer, faults: this.#faults, metrics };
    const inMemory = () => this.#waiting.length;
    this.#drain = disk && new QueueDrain({ ...this.#options, ...shared, disk, inMemory });
  }

  /** A line for operators about each fault that keeps rows from the store now. */
  get conditions(): readonly string[] {
    return this.#faults.conditions(this.#disk?.rows ?? 0, this.#waiting.length);
  }

  /** Writes the rows that an earlier process has left on disk. */
  start(): void {
    this.#drain?.look(0);
  }

  /** Queues a row and returns at once. When the queue is full the row is dropped, and counted. */
  record(row: LedgerRow): void {
    if (isRefusal(row)) this.#count(row);
    else this.#add(row);
  }

  #add(row: LedgerEntry): void {
    const { max_waiting, batch_rows, flush_ms } = this.#options;
    const waiting = this.#waiting.length;
    // A flood of refused requests must not displace billed rows.
    if (waiting >= max_waiting / 2 && isUnbilled(row)) return this.#lost.add([row], 'unbilled');
    if (waiting >= max_waiting) return this.#lost.add([row], 'queue_full');
    this.#waiting.push(row);
    if (this.#flushing) return;
    if (waiting + 1 >= batch_rows) this.#flush();
    else this.#flushTimer ??= setTimeout(() => this.#flush(), flush_ms).unref();
  }

  #count(row: LedgerRow): void {
    if (!this.#refusals.add(row)) return this.#lost.add([row], 'unbilled');
    this.#refusalTimer ??= setTimeout(() => this.#addRefusals(), this.#options.refusals_ms).unref();
  }

  /** Refusals are counted even if the queue is full: counts take no more memory. */
  #addRefusals(): void {
    const { max_waiting, refusals_ms } = this.#options;
    const isFull = this.#waiting.length >= max_waiting / 2;
    this.#refusalTimer = isFull ? setTimeout(() => this.#addRefusals(), refusals_ms).unref() : undefined;
    if (!isFull) for (const batch of this.#refusals.drain()) this.#add(batch);
  }

  /** Writes all waiting rows, to the store, else to the disk, else to the log. Returns the number of rows that went to the log. */
  async close(): Promise<number> {
    this.#isClosed = true;
    clearTimeout(this.#refusalTimer);
    this.#waiting.push(...this.#refusals.drain());
    await endedWithin(this.#end(), this.#options.close_ms);
    const rest = this.#waiting;
    this.#waiting = [];
    await this.#lost.addAtEnd(rest);
    this.#lost.close();
    return rest.length;
  }

  async #end(): Promise<void> {
    const drained = this.#drain?.close();
    // A flush does not include rows that came after it began.
    await this.#flushing;
    await this.#flush();
    await drained;
    await this.#disk?.close();
  }

  #flush(): Promise<void> {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    this.#flushing ??= this.#writeOnce();
    return this.#flushing;
  }

  async #writeOnce(): Promise<void> {
    const { batch_rows, flush_ms } = this.#options;
    const began_ms = performance.now();
    let wait_ms = flush_ms;
    try {
      if (!(await this.#writeWaiting())) return;
      // From the beginning of the last flush, so that no row waits longer than the first of a batch.
      const isFull = this.#waiting.length >= batch_rows;
      wait_ms = isFull ? 0 : Math.max(0, flush_ms - (performance.now() - began_ms));
    } finally {
      this.#flushing = undefined;
      if (this.#waiting.length > 0 && !this.#isClosed)
        this.#flushTimer ??= setTimeout(() => this.#flush(), wait_ms).unref();
    }
  }

  /**
   * Writes the rows waiting now; later rows are left to the next flush, or a busy gateway would write ever smaller batches. False if rows
   * must wait.
   */
  async #writeWaiting(): Promise<boolean> {
    let left = this.#waiting.length;
    while (left > 0) {
      this.#metrics.ledgerQueue('memory', this.#waiting.length);
      const batch = this.#waiting.slice(0, Math.min(left, this.#options.batch_rows));
      const isWritten = await this.#writeBatch(batch);
      // No rows wait once `close` has run out of time and logged them.
      if (!isWritten || this.#waiting.length === 0) return false;
      this.#waiting.splice(0, batch.length);
      left -= batch.length;
      this.#metrics.ledgerQueue('memory', this.#waiting.length);
    }
    return true;
  }

  /** Writes to the store, or to the disk first while the store is known to be unavailable. False if the rows must wait in memory. */
  async #writeBatch(batch: readonly LedgerEntry[]): Promise<boolean> {
    const { isStoreOut, isQueueOut } = this.#faults;
    if (isStoreOut && !isQueueOut && this.#disk)
      return (await this.#queueOnDisk(batch)) || (await this.#writeToStore(batch));
    return (await this.#writeToStore(batch)) || (await this.#queueOnDisk(batch));
  }

  /** Writes to the store; false if it is unavailable or takes too long. Without a usable disk there is no time limit. */
  async #writeToStore(batch: readonly LedgerEntry[]): Promise<boolean> {
    const hasFallback = this.#disk && !this.#faults.isQueueOut;
    try {
      await (hasFallback
        ? this.#writer.writeWithin(batch, this.#options.patience_ms)
        : this.#writer.write(batch));
    } catch (fault) {
      this.#faults.storeFailed(fault);
      return false;
    }
    if (this.#faults.isStoreOut) {
      this.#faults.wrote(batch.length);
      this.#faults.allWritten();
    }
    return true;
  }

  async #queueOnDisk(batch: readonly LedgerEntry[]): Promise<boolean> {
    if (!this.#disk) {
      this.#faults.keptInMemory();
      return false;
    }
    try {
      const refused = await this.#disk.append(batch);
      this.#lost.add(refused.filter(isUnbilled), 'unbilled');
      this.#lost.add(
        refused.filter(row => !isUnbilled(row)),
        'queue_full',
      );
      this.#metrics.ledgerQueue('disk', this.#disk.rows);
      this.#faults.queued();
      this.#drain!.look();
      return true;
    } catch (fault) {
      this.#faults.queueFailed(fault);
      this.#faults.keptInMemory();
      this.#drain!.look();
      return false;
    }
  }
}
