import type { Log } from '../../telemetry/log.ts';
import type { DropReason, RecordsMetrics } from '../../telemetry/records-metrics.ts';

const log_ms = 10_000;

/** Counts rows that are dropped, and says so in the log at most every ten seconds. */
export class DropCount {
  readonly #metrics: RecordsMetrics;
  readonly #log: Log;
  readonly #unsaid = new Map<DropReason, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(metrics: RecordsMetrics, log: Log) {
    this.#metrics = metrics;
    this.#log = log;
  }

  add(rows: number, reason: DropReason): void {
    this.#metrics.ledgerDropped(rows, reason);
    this.#unsaid.set(reason, (this.#unsaid.get(reason) ?? 0) + rows);
    if (this.#timer) return;
    this.#say();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#say();
    }, log_ms).unref();
  }

  /** Says what has not been said. */
  close(): void {
    clearTimeout(this.#timer);
    this.#say();
  }

  #say(): void {
    if (this.#unsaid.size === 0) return;
    const dropped = Object.fromEntries(this.#unsaid);
    this.#unsaid.clear();
    this.#log.error({ dropped }, 'settled exchanges will not be in the ledger');
  }
}
