import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { systemClock } from '../../../../../src/common/clock.ts';
import type { LedgerEntry } from '../../../../../src/gateway/settlement/ledger-entry.ts';
import { DiskQueue } from '../../../../../src/mount/ledger/disk-queue.ts';
import { Ledger, type LedgerOptions } from '../../../../../src/mount/ledger/ledger.ts';
import { StoreUnavailable } from '../../../../../src/records/record-errors.ts';
import type { RecordsStore } from '../../../../../src/records/records-store.ts';
import { RecordsMetrics } from '../../../../../src/telemetry/records-metrics.ts';
import { openRecords } from '../../../../support/open-records.ts';

/** A line of the log. */
export type LogLine = { readonly level: number; readonly msg: string } & Readonly<Record<string, unknown>>;

export const out = async (): Promise<void> => {
  throw new StoreUnavailable('out');
};

/** Ledgers over one SQLite store and one queue file, with a store that can be made to fail. */
export class LedgerSetting {
  readonly directory: string;
  readonly store: RecordsStore;
  readonly registry = new Registry();
  readonly lines: LogLine[] = [];
  /** What the store does with the next rows, before or instead of writing them. */
  trouble: ((rows: readonly LedgerEntry[]) => Promise<void>) | undefined;
  /** Takes rows in place of the store. */
  takes: ((rows: readonly LedgerEntry[]) => Promise<number>) | undefined;
  readonly #opened: Ledger[] = [];

  private constructor(directory: string, store: RecordsStore) {
    this.directory = directory;
    this.store = store;
  }

  static async open(): Promise<LedgerSetting> {
    const directory = await mkdtemp(join(tmpdir(), 'sluice-ledger-'));
    const store = await openRecords({ kind: 'sqlite', path: join(directory, 'store.db') });
    await store.migrate(0);
    return new LedgerSetting(directory, store);
  }

  get queuePath(): string {
    return join(this.directory, 'queue.db');
  }

  ledger(
    options: Partial<LedgerOptions> = {},
    disk: DiskQueue | undefined = new DiskQueue(this.queuePath, 1000),
  ): Ledger {
    const ledger = new Ledger({
      records: {
        insert: async rows => {
          await this.trouble?.(rows);
          return this.takes?.(rows) ?? this.store.ledger.insert(rows);
        },
      },
      disk,
      clock: systemClock,
      metrics: new RecordsMetrics(this.registry),
      log: pino({ base: null }, { write: line => void this.lines.push(JSON.parse(line)) }),
      options: { flush_ms: 5, batch_rows: 10, patience_ms: 100, retry_ms: 20, ...options },
    });
    this.#opened.push(ledger);
    return ledger;
  }

  async written(): Promise<number> {
    return (await this.store.usage.sum({ by: [] }))[0]?.requests ?? 0;
  }

  /** The sum of a metric's samples with this label value. */
  async metric(name: string, label = ''): Promise<number> {
    const lines = (await this.registry.getSingleMetricAsString(name)).split('\n');
    return lines
      .filter(line => !line.startsWith('#') && line.includes(label))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }

  /** The messages at `warn` and above, or those that match. */
  said(pattern?: RegExp): string[] {
    const lines = this.lines.filter(({ level, msg }) => (pattern ? pattern.test(msg) : level >= 40));
    return lines.map(({ msg }) => msg);
  }

  async close(): Promise<void> {
    this.trouble = undefined;
    await Promise.all(this.#opened.map(ledger => ledger.close()));
    await this.store.close();
    await rm(this.directory, { recursive: true, force: true });
  }
}
