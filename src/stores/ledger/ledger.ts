import type { Log } from '../../telemetry/log.ts';
import type { RecordsMetrics } from '../../telemetry/records-metrics.ts';
import type { LedgerRecords, LedgerRow } from '../records/ledger-records.ts';
import type { DiskQueue } from './disk-queue.ts';
import { DropCount } from './drop-count.ts';
import { RowWriter } from './row-writer.ts';

export interface LedgerOptions {
  /** How long rows are gathered before they are written. */
  readonly flush_ms: number;
  /** How many are written in one transaction. */
  readonly batch_rows: number;
  /** How many may wait in memory. */
  readonly max_waiting: number;
  /** A store that takes longer is passed by: the rows go to the disk, and from there to the store. */
  readonly patience_ms: number;
  /** How often a store that is out is tried again. */
  readonly retry_ms: number;
}

/** Documented in the README: what a crash can lose follows from `flush_ms` and `patience_ms`. */
export const ledgerDefaults: LedgerOptions = {
  flush_ms: 250,
  batch_rows: 500,
  max_waiting: 20_000,
  patience_ms: 1000,
  retry_ms: 1000,
};

/** How often a queue that could not be read is tried again. */
const disk_retry_ms = 30_000;

export interface LedgerSetup {
  readonly records: Pick<LedgerRecords, 'insert'>;
  /** Where rows wait while the store is out; without it they wait in memory. */
  readonly disk: DiskQueue | undefined;
  readonly metrics: RecordsMetrics;
  readonly log: Log;
  readonly options?: Partial<LedgerOptions>;
}

/**
 * Writes settled exchanges to the ledger, in batches and beside the requests: in memory for a moment, then in the store; on disk while
 * the store is out or slow, and from there to the store once it answers. A row that is sent twice is written once.
 */
export class Ledger {
  readonly #writer: RowWriter;
  readonly #disk: DiskQueue | undefined;
  readonly #metrics: RecordsMetrics;
  readonly #log: Log;
  readonly #options: LedgerOptions;
  readonly #drops: DropCount;
  #waiting: LedgerRow[] = [];
  #flushTimer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #retryDue_ms = 0;
  #emptying: Promise<void> | undefined;
  #isOut = false;
  #isDiskOut = false;
  #isClosed = false;

  constructor({ records, disk, metrics, log, options }: LedgerSetup) {
    this.#disk = disk;
    this.#metrics = metrics;
    this.#log = log;
    this.#options = { ...ledgerDefaults, ...options };
    this.#drops = new DropCount(metrics, log);
    this.#writer = new RowWriter(records, metrics, this.#drops, log);
  }

  /** Writes what an earlier process has left on disk. */
  start(): void {
    if (this.#disk?.exists) this.#retry(0);
  }

  /** Takes a row and returns at once. When too much waits already it is dropped, and counted. */
  record(row: LedgerRow): void {
    const { max_waiting, batch_rows, flush_ms } = this.#options;
    const waiting = this.#waiting.length;
    if (waiting >= max_waiting) return this.#drops.add(1, 'queue_full');
    // Whoever sends what is refused must not push out what was paid for.
    if (waiting >= max_waiting / 2 && isUnbilled(row)) return this.#drops.add(1, 'unbilled');
    this.#waiting.push(row);
    if (this.#flushing) return;
    if (waiting + 1 >= batch_rows) this.#flush();
    else this.#flushTimer ??= setTimeout(() => this.#flush(), flush_ms).unref();
  }

  /** Writes all that waits, to the store or else to the disk. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retryTimer);
    await this.#emptying;
    await this.#flushing;
    await this.#flush();
    if (this.#waiting.length > 0) this.#drops.add(this.#waiting.length, 'lost');
    this.#waiting = [];
    this.#drops.close();
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
      // As if it had begun to wait when the last one did, so that no row waits longer than the first of a batch.
      const isFull = this.#waiting.length >= batch_rows;
      wait_ms = isFull ? 0 : Math.max(0, flush_ms - (performance.now() - began_ms));
    } finally {
      this.#flushing = undefined;
      if (this.#waiting.length > 0 && !this.#isClosed)
        this.#flushTimer ??= setTimeout(() => this.#flush(), wait_ms).unref();
    }
  }

  /** What comes meanwhile is left to the next time: a busy gateway would write ever smaller batches, and never be done. False where it all must wait. */
  async #writeWaiting(): Promise<boolean> {
    let left = this.#waiting.length;
    while (left > 0) {
      this.#metrics.ledgerQueue('memory', this.#waiting.length);
      const batch = this.#waiting.slice(0, Math.min(left, this.#options.batch_rows));
      const isWritten = !this.#isOut && (await this.#writeSoon(batch));
      if (!isWritten && !(await this.#putAside(batch))) return false;
      this.#waiting.splice(0, batch.length);
      left -= batch.length;
      this.#metrics.ledgerQueue('memory', this.#waiting.length);
    }
    return true;
  }

  /** Writes to the store, unless it is out or takes too long. Without a disk there is nothing to pass it by for. */
  async #writeSoon(batch: readonly LedgerRow[]): Promise<boolean> {
    const { patience_ms } = this.#options;
    try {
      await (this.#disk ? this.#writer.writeWithin(batch, patience_ms) : this.#writer.write(batch));
      return true;
    } catch (fault) {
      this.#setOut(fault);
      return false;
    }
  }

  /** False if the rows must go on waiting in memory. */
  async #putAside(batch: readonly LedgerRow[]): Promise<boolean> {
    if (!this.#disk) return false;
    try {
      const taken = await this.#disk.append(batch);
      if (taken < batch.length) this.#drops.add(batch.length - taken, 'queue_full');
      this.#metrics.ledgerQueue('disk', this.#disk.rows);
      this.#isDiskOut = false;
      this.#retry(this.#options.retry_ms);
      return true;
    } catch (fault) {
      this.#setDiskOut(fault);
      return false;
    }
  }

  #setOut(fault: unknown): void {
    if (!this.#isOut)
      this.#log.warn({ err: fault }, 'the records store is out or slow: the ledger waits on disk');
    this.#isOut = true;
    this.#retry(this.#options.retry_ms);
  }

  /** Looks at the disk in `wait_ms`, or sooner if that was to be. */
  #retry(wait_ms: number): void {
    const due_ms = performance.now() + wait_ms;
    if (this.#isClosed || (this.#retryTimer && this.#retryDue_ms <= due_ms)) return;
    clearTimeout(this.#retryTimer);
    this.#retryDue_ms = due_ms;
    this.#retryTimer = setTimeout(() => {
      this.#retryTimer = undefined;
      // It may have looked for the last time already, before what this look is for was put there.
      if (this.#emptying) return this.#retry(this.#options.retry_ms);
      this.#emptying = this.#emptyDisk().finally(() => {
        this.#emptying = undefined;
      });
    }, wait_ms).unref();
  }

  /** From the disk to the store, until nothing is left there. */
  async #emptyDisk(): Promise<void> {
    let moved = 0;
    while (!this.#isClosed) {
      const batch = await this.#firstOnDisk();
      if (batch.length === 0) break;
      try {
        await this.#writer.write(batch);
      } catch (fault) {
        return this.#setOut(fault);
      }
      if (!(await this.#removeFromDisk(batch))) break;
      this.#metrics.ledgerQueue('disk', this.#disk!.rows);
      moved += batch.length;
    }
    if (moved > 0)
      this.#log.info({ rows: moved }, 'rows of the ledger that waited on disk have been written');
    this.#isOut = false;
  }

  /** Nothing where the disk cannot be read: that must not keep what waits in memory from the store. */
  async #firstOnDisk(): Promise<LedgerRow[]> {
    if (!this.#disk?.exists) return [];
    return this.#disk.first(this.#options.batch_rows).catch(fault => {
      this.#setDiskOut(fault);
      this.#retry(disk_retry_ms);
      return [];
    });
  }

  async #removeFromDisk(batch: readonly LedgerRow[]): Promise<boolean> {
    try {
      await this.#disk!.remove(batch);
      return true;
    } catch (fault) {
      this.#setDiskOut(fault);
      this.#retry(disk_retry_ms);
      return false;
    }
  }

  #setDiskOut(fault: unknown): void {
    if (!this.#isDiskOut) this.#log.error({ err: fault }, 'the queue of the ledger on disk cannot be used');
    this.#isDiskOut = true;
  }
}

const isUnbilled = ({ prompt_tokens, completion_tokens }: LedgerRow): boolean =>
  prompt_tokens + completion_tokens === 0;
