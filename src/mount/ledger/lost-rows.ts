import { exchangesIn, isRow, type LedgerEntry } from '../../gateway/settlement/ledger-entry.ts';
import type { Log } from '../../telemetry/log.ts';
import type { DropReason, RecordsMetrics } from '../../telemetry/records-metrics.ts';
import { standardOutput } from '../../telemetry/standard-output.ts';

const log_ms = 10_000;
/** How many rows are logged before the log is waited for, and for how long. */
const rows_per_flush = 500;
const flush_ms = 1000;
/** Pino's number for `error`, for lines that are written without it. */
const error_level = 50;
const message = 'a ledger row was not written; `sluice ledger import` reads it from this line';

/** Whether the exchange used no tokens: such rows are dropped first, and only counted then. */
export const isUnbilled = (entry: LedgerEntry): boolean =>
  isRow(entry) && entry.prompt_tokens + entry.completion_tokens === 0;

/**
 * Rows that will not reach the ledger. All are counted, and the counts are logged at most every ten seconds. Billed ones are also logged
 * whole, as `ledger_row`, for `sluice ledger import`, whatever the log level.
 */
export class LostRows {
  readonly #metrics: RecordsMetrics;
  readonly #log: Log;
  readonly #unlogged = new Map<DropReason, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(metrics: RecordsMetrics, log: Log) {
    this.#metrics = metrics;
    this.#log = log;
  }

  add(rows: readonly LedgerEntry[], reason: DropReason, fault?: unknown): void {
    if (rows.length === 0) return;
    const exchanges = exchangesIn(rows);
    if (reason !== 'unbilled') for (const row of rows) this.#logRow(row, reason, fault);
    this.#metrics.ledgerDropped(exchanges, reason);
    this.#unlogged.set(reason, (this.#unlogged.get(reason) ?? 0) + exchanges);
    if (this.#timer) return;
    this.#logCounts();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#logCounts();
    }, log_ms).unref();
  }

  /** Logs what is left at the end, at the pace of the log's reader as long as it reads: more at once would be dropped. */
  async addAtEnd(rows: readonly LedgerEntry[]): Promise<void> {
    let isRead = true;
    for (let at = 0; at < rows.length; at += rows_per_flush) {
      const { dropped_lines } = standardOutput;
      this.add(rows.slice(at, at + rows_per_flush), 'lost');
      if (isRead) isRead = (await standardOutput.flush(flush_ms)) <= dropped_lines;
    }
  }

  /** Logs the counts that have not been logged. */
  close(): void {
    clearTimeout(this.#timer);
    this.#logCounts();
  }

  #logRow(row: LedgerEntry, reason: DropReason, fault: unknown): void {
    const fields = { ledger_row: row, reason };
    if (this.#log.isLevelEnabled('error'))
      return this.#log.error({ ...fields, ...(fault !== undefined && { err: fault }) }, message);
    const line = { level: error_level, time: new Date().toISOString(), ...fields, msg: message };
    process.stderr.write(`${JSON.stringify(line)}\n`);
  }

  #logCounts(): void {
    if (this.#unlogged.size === 0) return;
    const dropped = Object.fromEntries(this.#unlogged);
    this.#unlogged.clear();
    this.#log.error({ dropped }, 'ledger rows were dropped');
  }
}
