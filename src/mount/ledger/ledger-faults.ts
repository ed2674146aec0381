import type { Outage } from '../../common/outage.ts';
import type { Surroundings } from '../../telemetry/surroundings.ts';

/**
 * Faults that keep rows from the ledger: failed writes to the records store, and an unusable queue file. The beginning and the end of each
 * is logged once, and a gauge says whether writes succeed.
 */
export class LedgerFaults {
  /** Set while writes to the records store fail. */
  store: Outage | undefined;
  /** Set while the queue file cannot be used. */
  queue: Outage | undefined;
  readonly #surroundings: Surroundings;
  /** The queue file, if there is one. */
  readonly #queue_path: string | undefined;
  /** Places of waiting rows that were logged during this outage. */
  readonly #logged = new Set<'disk' | 'memory'>();
  /** Rows that waited and have been written since the outage began. */
  #written = 0;

  constructor(surroundings: Surroundings, queue_path: string | undefined) {
    this.#surroundings = surroundings;
    this.#queue_path = queue_path;
  }

  /** A write failed, or took too long. Logged once it is known where the rows wait. */
  storeFailed(cause: unknown): void {
    this.store = this.#outage(this.store, cause);
    this.#surroundings.metrics.ledgerWrites(false);
  }

  /** Rows wait on disk, or in memory for want of a usable disk. */
  waitingIn(place: 'disk' | 'memory'): void {
    if (!this.store || this.#logged.has(place)) return;
    this.#logged.add(place);
    const { log } = this.#surroundings;
    const fields = { err: this.store.cause, queue: this.#queue_path };
    if (place === 'disk') log.warn(fields, 'ledger writes fail, rows are queued on disk');
    else log.error(fields, 'ledger writes fail, rows wait in memory');
  }

  queueFailed(cause: unknown): void {
    const fields = { err: cause, queue: this.#queue_path };
    if (!this.queue) this.#surroundings.log.error(fields, 'the ledger queue file cannot be used');
    this.queue = this.#outage(this.queue, cause);
  }

  queueWorks(): void {
    const fields = { queue: this.#queue_path };
    if (this.queue) this.#surroundings.log.info(fields, 'the ledger queue file can be used again');
    this.queue = undefined;
  }

  /** Rows that had waited are in the store. */
  wrote(rows: number): void {
    this.#written += rows;
  }

  /** No rows wait for the store any more. */
  allWritten(): void {
    const { log, metrics, clock } = this.#surroundings;
    const rows_written = this.#written;
    if (this.store) {
      const outage_ms = clock.epoch_ms() - this.store.since_epoch_ms;
      log.info({ rows_written, outage_ms }, 'ledger writes succeed again');
    } else if (rows_written > 0) {
      log.info({ rows_written }, 'ledger rows that another process had queued on disk are written');
    }
    this.store = undefined;
    this.#written = 0;
    this.#logged.clear();
    metrics.ledgerWrites(true);
  }

  /** One line for operators about each current fault. */
  conditions(onDisk: number, inMemory: number): string[] {
    const path = this.#queue_path;
    const places: string[] = [];
    if (onDisk > 0) places.push(`${rowsOf(onDisk)} on disk (${path})`);
    if (inMemory > 0 || onDisk === 0) places.push(`${rowsOf(inMemory)} in memory`);
    return [
      ...this.#line('ledger writes have failed', this.store, `waiting: ${places.join(', ')}`),
      ...this.#line(`the ledger queue file ${path} has been unusable`, this.queue, 'rows wait in memory'),
    ];
  }

  #line(what: string, outage: Outage | undefined, where: string): string[] {
    if (!outage) return [];
    const out_s = Math.round((this.#surroundings.clock.epoch_ms() - outage.since_epoch_ms) / 1000);
    const why = outage.cause instanceof Error ? outage.cause.message : String(outage.cause);
    return [`${what} for ${out_s} s, ${where}: ${why}`];
  }

  #outage(known: Outage | undefined, cause: unknown): Outage {
    return { since_epoch_ms: known?.since_epoch_ms ?? this.#surroundings.clock.epoch_ms(), cause };
  }
}

const rowsOf = (rows: number): string => (rows === 1 ? '1 row' : `${rows} rows`);
