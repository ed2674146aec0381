import { setImmediate } from 'node:timers/promises';
import { timeOfUuid } from '../../common/ids.ts';
import { RepeatingTask } from '../../common/repeating-task.ts';
import { endedWithin } from '../../common/within.ts';
import type { LedgerEntry, LedgerRow } from '../../gateway/settlement/ledger-entry.ts';
import type { LedgerRecords } from '../../records/ledger-records.ts';
import { StoreUnavailable } from '../../records/record-errors.ts';
import type { Surroundings } from '../../telemetry/surroundings.ts';
import type { DiskQueue } from './disk-queue.ts';
import { LedgerWriter } from './ledger-writer.ts';
import { isUnbilled, LostRows } from './lost-rows.ts';
import { isRefusal, RefusalCounter } from './refusal-counter.ts';

/** Documented in docs/explanation/settlement.md: what a crash can lose follows from `flush_ms` and `patience_ms`. */
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
  readonly records: Pick<LedgerRecords, 'insert'> & {
    /** Resolves when nothing of what `insert` has taken can come back by `putBack`. */
    readonly settled?: () => Promise<unknown>;
  };
  /** Queue for rows while the store is unavailable; without it they wait in memory. */
  readonly disk: DiskQueue | undefined;
  readonly options?: Partial<LedgerOptions>;
}

/**
 * Writes settled exchanges to the ledger, in batches and beside the requests: in memory for a moment, then in the store; on disk while
 * the store is down or slow, and from there to the store once it answers. A row that is sent twice is written once.
 */
export class Ledger {
  readonly #writer: LedgerWriter;
  readonly #disk: DiskQueue | undefined;
  readonly #settled: LedgerSetup['records']['settled'];
  readonly #metrics: Surroundings['metrics'];
  readonly #options: LedgerOptions;
  readonly #lost: LostRows;
  readonly #refusals = new RefusalCounter();
  readonly #refusalsTask = new RepeatingTask(async () => this.#addRefusals());
  readonly #watchers = new Set<(entries: readonly LedgerEntry[]) => void>();
  #waiting: LedgerEntry[] = [];
  readonly #flush = new RepeatingTask(() => this.#writeWaiting());
  readonly #unwatch: () => void;

  constructor({ options, ...setup }: LedgerSetup) {
    this.#disk = setup.disk;
    this.#settled = setup.records.settled;
    this.#metrics = setup.metrics;
    this.#options = { ...ledgerDefaults, ...options };
    const lost = new LostRows(setup.metrics, setup.log);
    this.#lost = lost;
    const inMemory = () => this.#waiting.length;
    this.#writer = new LedgerWriter({ ...setup, ...this.#options, lost, inMemory });
    this.#unwatch = setup.metrics.watchLedger(() => this.#age_ms(setup.clock.epoch_ms()));
  }

  /** A line for operators about each fault that keeps rows from the store now. */
  get conditions(): readonly string[] {
    return this.#writer.conditions;
  }

  /** Writes the rows that an earlier process has left on disk. */
  start(): void {
    this.#writer.start();
  }

  /** Shows `watcher` what is about to be written, again if that fails, until the returned function is called. It must not throw. */
  watch(watcher: (entries: readonly LedgerEntry[]) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Queues a row and returns at once. When the queue is full the row is dropped, and counted. */
  record(row: LedgerRow): void {
    if (!isRefusal(row)) return this.#add(row);
    if (!this.#refusals.add(row)) return this.#lost.add([row], 'unbilled');
    this.#refusalsTask.runIn(this.#options.refusals_ms);
  }

  /** Queues what another process of this server hands over, all of it. Throws StoreUnavailable while there is no room. */
  take(entries: readonly LedgerEntry[]): void {
    if (this.#waiting.length + entries.length > this.#options.max_waiting)
      throw new StoreUnavailable('too many ledger rows wait in the primary process');
    this.putBack(entries);
  }

  /** Queues what `insert` had taken and could not hand on. What there is no room for is dropped, and counted. */
  putBack(entries: readonly LedgerEntry[]): void {
    for (const entry of entries) this.#add(entry);
  }

  /** Writes all waiting rows, to the store, else to the disk, else to the log. Returns the number of rows that went to the log. */
  async close(): Promise<number> {
    void this.#refusalsTask.close();
    this.#waiting.push(...this.#refusals.drain());
    await endedWithin(this.#end(), this.#options.close_ms);
    const rest = this.#waiting;
    this.#waiting = [];
    await this.#lost.addAtEnd(rest);
    this.#lost.close();
    this.#unwatch();
    return rest.length;
  }

  /** Age of the oldest row that is not in the store; 0 without one. */
  #age_ms(now_ms: number): number {
    const first_ms = timeOfUuid(this.#waiting[0]?.id ?? '');
    const oldest_ms = Math.min(
      first_ms,
      this.#refusals.oldest_ms,
      this.#disk?.oldest_ms ?? Number.POSITIVE_INFINITY,
    );
    return Math.max(0, now_ms - oldest_ms);
  }

  async #end(): Promise<void> {
    const moved = this.#writer.close();
    // The run in progress does not include rows that came after it began.
    await this.#flush.close();
    await this.#flush.run();
    if (this.#settled) await this.#settled().then(() => this.#flush.run());
    await moved;
    // A store that was slow for a moment: the next process may start much later, or without this disk.
    await this.#writer.moveAll();
    await this.#disk?.close();
  }

  #add(row: LedgerEntry): void {
    const { max_waiting, batch_rows, flush_ms } = this.#options;
    const waiting = this.#waiting.length;
    // A flood of refused requests must not displace billed rows.
    if (waiting >= max_waiting / 2 && isUnbilled(row)) return this.#lost.add([row], 'unbilled');
    if (waiting >= max_waiting) return this.#lost.add([row], 'queue_full');
    this.#waiting.push(row);
    this.#flush.runIn(waiting + 1 >= batch_rows && !this.#flush.isRunning ? 0 : flush_ms);
  }

  /** Refusals are counted even if the queue is full: counts take no more memory. */
  #addRefusals(): number | undefined {
    const { max_waiting, refusals_ms } = this.#options;
    if (this.#waiting.length >= max_waiting / 2) return refusals_ms;
    for (const batch of this.#refusals.drain()) this.#add(batch);
    return undefined;
  }

  /**
   * Writes the rows waiting now; later rows are left to the next run, or a busy gateway would write ever smaller batches. Returns in how many
   * milliseconds to write what waits by then.
   */
  async #writeWaiting(): Promise<number | undefined> {
    const { batch_rows, flush_ms } = this.#options;
    for (let left = this.#waiting.length; left > 0; ) {
      this.#metrics.ledgerQueue(this.#waiting.length, 'memory');
      const batch = this.#waiting.slice(0, Math.min(left, batch_rows));
      for (const watcher of this.#watchers) watcher(batch);
      if (!(await this.#writer.write(batch))) return flush_ms;
      // `close` has run out of time and logged them.
      if (this.#waiting.length === 0) return undefined;
      this.#waiting.splice(0, batch.length);
      left -= batch.length;
      this.#metrics.ledgerQueue(this.#waiting.length, 'memory');
      // A store in memory lets nothing else run while it writes.
      await setImmediate();
    }
    return this.#waiting.length >= batch_rows ? 0 : undefined;
  }
}
