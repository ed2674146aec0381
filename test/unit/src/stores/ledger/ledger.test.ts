import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { DiskQueue } from '../../../../../src/stores/ledger/disk-queue.ts';
import { Ledger, type LedgerOptions } from '../../../../../src/stores/ledger/ledger.ts';
import { StoreUnavailable } from '../../../../../src/stores/records/database.ts';
import type { LedgerRow } from '../../../../../src/stores/records/ledger-records.ts';
import { openRecords, type RecordsStore } from '../../../../../src/stores/records/records-store.ts';
import { createLog } from '../../../../../src/telemetry/log.ts';
import { RecordsMetrics } from '../../../../../src/telemetry/records-metrics.ts';
import { sampleRow, sampleRows } from './sample-row.ts';

let directory: string;
let store: RecordsStore;
let registry: Registry;
let opened: Ledger[];
/** What the store does with the next rows, before or instead of writing them. */
let trouble: ((rows: readonly LedgerRow[]) => Promise<void>) | undefined;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-ledger-'));
  store = await openRecords({ kind: 'sqlite', path: join(directory, 'store.db') });
  await store.migrate(0);
  registry = new Registry();
  opened = [];
  trouble = undefined;
});
afterEach(async () => {
  await Promise.all(opened.map(ledger => ledger.close()));
  await store.close();
  await rm(directory, { recursive: true, force: true });
});

const queuePath = () => join(directory, 'queue.db');

/** What it reads is old when it is told. */
class LateDisk extends DiskQueue {
  override async first(limit: number): Promise<LedgerRow[]> {
    const rows = await super.first(limit);
    await sleep(100);
    return rows;
  }
}

function openLedger(
  options: Partial<LedgerOptions> = {},
  max_rows = 1000,
  disk = new DiskQueue(queuePath(), max_rows),
): Ledger {
  const ledger = new Ledger({
    records: {
      insert: async rows => {
        await trouble?.(rows);
        return store.ledger.insert(rows);
      },
    },
    disk,
    metrics: RecordsMetrics.on(registry),
    log: createLog('silent'),
    options: { flush_ms: 5, batch_rows: 10, patience_ms: 100, retry_ms: 20, ...options },
  });
  opened.push(ledger);
  return ledger;
}

const written = async (): Promise<number> => (await store.usage.sum({ by: [] }))[0]?.requests ?? 0;

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isSo()); tries++) {
    if (tries > 2000) throw new Error('it did not come to be');
    await sleep(10);
  }
}

/** The sum of a metric's samples with this label value. */
async function metric(name: string, label = ''): Promise<number> {
  const lines = (await registry.getSingleMetricAsString(name)).split('\n');
  return lines
    .filter(line => !line.startsWith('#') && line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

const out = async () => {
  throw new StoreUnavailable('out');
};

describe('the ledger', () => {
  it('writes what it is given, in batches, and makes no file while the store answers', async () => {
    const sizes: number[] = [];
    trouble = async rows => void sizes.push(rows.length);
    const ledger = openLedger();
    for (const row of sampleRows(35)) ledger.record(row);
    await until(async () => (await written()) === 35);
    expect(sizes).toEqual([10, 10, 10, 5]);
    expect(await metric('sluice_ledger_rows_total')).toBe(35);
    expect(await metric('sluice_ledger_queue_rows')).toBe(0);
    expect(existsSync(queuePath())).toBe(false);
  });

  it('has written everything when it is closed', async () => {
    const ledger = openLedger({ flush_ms: 60_000, batch_rows: 500 });
    for (const row of sampleRows(35)) ledger.record(row);
    await ledger.close();
    expect(await written()).toBe(35);
  });

  it('leaves what comes during a write to the next batch', async () => {
    const ledger = openLedger({ flush_ms: 60_000, patience_ms: 10_000 });
    const sizes: number[] = [];
    const [first, meanwhile, last] = [sampleRows(10), sampleRows(5), sampleRows(5)];
    trouble = async rows => {
      await sleep(1);
      if (sizes.push(rows.length) === 1) for (const row of meanwhile) ledger.record(row);
    };
    for (const row of first) ledger.record(row);
    await until(async () => (await metric('sluice_ledger_queue_rows')) === 5);
    expect(sizes).toEqual([10]);
    for (const row of last) ledger.record(row);
    await until(async () => (await written()) === 20);
    expect(sizes).toEqual([10, 10]);
  });

  it('waits on disk while the store is out, and is written once when it is back', async () => {
    trouble = out;
    const ledger = openLedger();
    for (const row of sampleRows(25)) ledger.record(row);
    await until(async () => (await metric('sluice_ledger_queue_rows', 'disk')) === 25);
    expect(await metric('sluice_ledger_queue_rows', 'memory')).toBe(0);
    expect(await metric('sluice_store_up', 'records')).toBe(0);
    trouble = undefined;
    await until(async () => (await written()) === 25);
    for (const row of sampleRows(5)) ledger.record(row);
    await until(async () => (await written()) === 30);
    expect(await metric('sluice_ledger_queue_rows')).toBe(0);
    expect(await metric('sluice_store_up', 'records')).toBe(1);
  });

  it('forgets nothing that goes to disk just when the disk has been found empty', async () => {
    trouble = out;
    const ledger = openLedger({ patience_ms: 5000 }, 1000, new LateDisk(queuePath(), 1000));
    ledger.record(sampleRow());
    await until(async () => (await metric('sluice_ledger_queue_rows', 'disk')) === 1);
    trouble = undefined;
    for (let at = 0; at < 50; at++) {
      ledger.record(sampleRow());
      await sleep(10);
    }
    await until(async () => (await written()) === 51);
  });

  it('passes by a store that is slow, and does not write twice what that wrote late', async () => {
    trouble = () => sleep(300);
    const ledger = openLedger();
    for (const row of sampleRows(20)) ledger.record(row);
    await until(async () => (await metric('sluice_ledger_queue_rows', 'disk')) > 0);
    await until(async () => (await written()) === 20);
    await until(async () => (await metric('sluice_ledger_queue_rows')) === 0);
    await ledger.close();
    expect(await written()).toBe(20);
  });

  it('does not write twice what a store wrote without saying so', async () => {
    let isFirst = true;
    trouble = async rows => {
      if (!isFirst) return;
      isFirst = false;
      await store.ledger.insert(rows);
      throw new StoreUnavailable('the connection was lost after COMMIT');
    };
    const ledger = openLedger();
    for (const row of sampleRows(10)) ledger.record(row);
    await until(async () => (await written()) === 10);
    await ledger.close();
    expect(await store.usage.sum({ by: [] })).toMatchObject([{ requests: 10, prompt_tokens: 100 }]);
  });

  it('goes to disk when it is closed while the store is out, and is written by the next process', async () => {
    trouble = out;
    const ledger = openLedger();
    for (const row of sampleRows(25)) ledger.record(row);
    await ledger.close();
    expect(await written()).toBe(0);
    trouble = undefined;
    const next = openLedger();
    next.start();
    await until(async () => (await written()) === 25);
    expect(await metric('sluice_ledger_dropped_total')).toBe(0);
  });

  it('is on disk once, when several processes share the file', async () => {
    trouble = out;
    const ledgers = [openLedger(), openLedger(), openLedger()];
    for (const ledger of ledgers) for (const row of sampleRows(20)) ledger.record(row);
    await Promise.all(ledgers.map(ledger => ledger.close()));
    trouble = undefined;
    const next = [openLedger(), openLedger()];
    for (const ledger of next) ledger.start();
    await until(async () => (await written()) === 60);
    await Promise.all(next.map(ledger => ledger.close()));
    expect(await written()).toBe(60);
  });

  it('leaves out a row that the store refuses, and writes those around it', async () => {
    const ledger = openLedger();
    const rows = sampleRows(10);
    for (const row of rows) ledger.record(row);
    ledger.record(sampleRow({ cost_usd: '0.0000000000001' }));
    ledger.record(sampleRow({ cost_usd: '99999999999' }));
    ledger.record(sampleRow({ started_ms: Number.NaN }));
    for (const row of sampleRows(9)) ledger.record(row);
    await until(async () => (await written()) === 19);
    expect(await metric('sluice_ledger_dropped_total', 'refused')).toBe(3);
  });

  it('drops what cost nothing before what was paid for, and then that, and counts both', async () => {
    const ledger = openLedger({ flush_ms: 60_000, batch_rows: 500, max_waiting: 20 });
    const unbilled = { prompt_tokens: 0, completion_tokens: 0, status: 429 };
    for (const row of sampleRows(30, unbilled)) ledger.record(row);
    expect(await metric('sluice_ledger_dropped_total', 'unbilled')).toBe(20);
    for (const row of sampleRows(30)) ledger.record(row);
    expect(await metric('sluice_ledger_dropped_total', 'queue_full')).toBe(20);
    await ledger.close();
    expect(await written()).toBe(20);
  });

  it('drops what the disk has no room for', async () => {
    trouble = out;
    const ledger = openLedger({}, 15);
    for (const row of sampleRows(40)) ledger.record(row);
    await until(async () => (await metric('sluice_ledger_dropped_total', 'queue_full')) === 25);
    trouble = undefined;
    await until(async () => (await written()) === 15);
  });

  it('waits in memory while store and disk are both out, and is written by what comes back first', async () => {
    await writeFile(queuePath(), 'not a database, however often it is tried '.repeat(100));
    trouble = out;
    const ledger = openLedger();
    for (const row of sampleRows(25)) ledger.record(row);
    await until(async () => (await metric('sluice_ledger_queue_rows', 'memory')) === 25);
    await sleep(100);
    expect(await metric('sluice_ledger_dropped_total')).toBe(0);
    trouble = undefined;
    await until(async () => (await written()) === 25);
  });

  it('counts what is lost when it is closed while both are out', async () => {
    await writeFile(queuePath(), 'not a database, however often it is tried '.repeat(100));
    trouble = out;
    const ledger = openLedger();
    for (const row of sampleRows(25)) ledger.record(row);
    await ledger.close();
    expect(await metric('sluice_ledger_dropped_total', 'lost')).toBe(25);
  });
});
