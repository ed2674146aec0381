import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DiskQueue } from '../../../../../src/mount/ledger/disk-queue.ts';
import { LedgerFaults } from '../../../../../src/mount/ledger/ledger-faults.ts';
import { RecordsMetrics } from '../../../../../src/telemetry/records-metrics.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { until } from '../../../../support/until.ts';
import { LedgerSetting, out } from './ledger-setting.ts';
import { sampleRow, sampleRows } from './sample-row.ts';

let setting: LedgerSetting;

beforeEach(async () => {
  setting = await LedgerSetting.open();
});
afterEach(() => setting.close());

const onDisk = () => setting.metric('sluice_ledger_queue_rows', 'disk');
const inMemory = () => setting.metric('sluice_ledger_queue_rows', 'memory');
const canWrite = () => setting.metric('sluice_store_up', 'operation="ledger_insert"');

describe('an outage of the records store', () => {
  it('is reported with its duration, waiting rows, place and cause until it is over', async () => {
    const ledger = setting.ledger();
    expect(ledger.conditions).toEqual([]);
    setting.trouble = out;
    for (const row of sampleRows(25)) ledger.record(row);
    await until(async () => (await onDisk()) === 25);
    expect(ledger.conditions).toEqual([
      expect.stringMatching(
        /^ledger writes have failed for \d+ s, waiting: 25 rows on disk \(\/.*queue\.db\): out$/,
      ),
    ]);
    setting.trouble = undefined;
    await until(() => ledger.conditions.length === 0);
    expect(await setting.written()).toBe(25);
    expect(setting.lines.at(-1)).toMatchObject({ msg: 'ledger writes succeed again', rows_written: 25 });
  });

  it('is logged once at its start for each place of rows and once at its end, and so is the next one', () => {
    const { log, lines } = capturedLog();
    const clock = new FakeClock();
    const metrics = new RecordsMetrics(setting.registry);
    const faults = new LedgerFaults({ log, clock, metrics }, 'queue.db');
    for (let outage = 0; outage < 2; outage++) {
      for (const why of ['first', 'second']) {
        faults.storeFailed(new Error(why));
        for (const place of ['disk', 'memory'] as const) faults.waitingIn(place);
        clock.advance(1500);
      }
      for (const rows of [20, 6]) faults.wrote(rows);
      faults.allWritten();
      faults.allWritten();
      faults.waitingIn('disk');
    }
    const err = { message: 'first' };
    const each = [
      { level: 40, msg: 'ledger writes fail, rows are queued on disk', err, queue: 'queue.db' },
      { level: 50, msg: 'ledger writes fail, rows wait in memory', err },
      { level: 30, msg: 'ledger writes succeed again', rows_written: 26, outage_ms: 3000 },
    ];
    expect(lines).toMatchObject([...each, ...each]);
    expect(lines).toHaveLength(6);
  });

  it('ends when another process has written the waiting rows', async () => {
    setting.trouble = out;
    const ledger = setting.ledger();
    for (const row of sampleRows(5)) ledger.record(row);
    await until(async () => (await onDisk()) === 5);
    const other = new DiskQueue(setting.queuePath, 1000);
    await other.remove(await other.first(10));
    await until(() => ledger.conditions.length === 0);
    expect(await onDisk()).toBe(0);
    expect(await canWrite()).toBe(1);
    await other.close();
  });

  it('leaves a small file behind', async () => {
    setting.trouble = out;
    const disk = new DiskQueue(setting.queuePath, 10_000);
    const ledger = setting.ledger({ batch_rows: 500 }, disk);
    for (const row of sampleRows(1000)) ledger.record(row);
    await until(async () => (await onDisk()) === 1000);
    setting.trouble = undefined;
    await until(async () => (await setting.written()) === 1000 && !disk.isSparse);
  });

  it('is not reported for a row that the store rejects', async () => {
    const ledger = setting.ledger();
    ledger.record(sampleRow({ cost_usd: '0.0000000000001' }));
    await until(async () => (await setting.metric('sluice_ledger_dropped_total', 'refused')) === 1);
    expect(ledger.conditions).toEqual([]);
    expect(await canWrite()).toBe(1);
  });
});

describe('an outage of store and queue', () => {
  const place = () => join(setting.directory, 'gone', 'queue.db');

  it('is logged once as rows waiting in memory, never as rows queued on disk', async () => {
    setting.trouble = out;
    const ledger = setting.ledger({}, new DiskQueue(place(), 1000));
    for (const row of sampleRows(5)) ledger.record(row);
    let tries = 0;
    setting.trouble = async () => {
      tries++;
      await out();
    };
    await until(() => tries > 5);
    expect(setting.said()).toEqual([
      'the ledger queue file cannot be used',
      'ledger writes fail, rows wait in memory',
    ]);
    expect(ledger.conditions).toEqual([
      expect.stringMatching(/^ledger writes have failed for \d+ s, waiting: 5 rows in memory: out$/),
      expect.stringMatching(
        /^the ledger queue file \S+ has been unusable for \d+ s, rows wait in memory: .+$/,
      ),
    ]);
    setting.trouble = undefined;
    await until(async () => (await setting.written()) === 5);
    await until(async () => (await canWrite()) === 1);
    expect(setting.said(/succeed again/)).toHaveLength(1);
  });

  it('ends with the rows on disk as soon as the queue can be written', async () => {
    setting.trouble = out;
    const ledger = setting.ledger({}, new DiskQueue(place(), 1000));
    for (const row of sampleRows(5)) ledger.record(row);
    await until(() => setting.said(/wait in memory/).length === 1);
    await mkdir(dirname(place()));
    await until(async () => (await onDisk()) === 5 && (await inMemory()) === 0);
    expect(setting.said().at(-1)).toBe('ledger writes fail, rows are queued on disk');
    expect(setting.said(/can be used again/)).toHaveLength(1);
  });
});

describe('the shutdown of a ledger', () => {
  it('includes rows that came while a batch was being written', async () => {
    const [begun, allowed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    setting.trouble = () => {
      begun.resolve();
      return allowed.promise;
    };
    const ledger = setting.ledger({ patience_ms: 60_000, flush_ms: 60_000 });
    for (const row of sampleRows(10)) ledger.record(row);
    await begun.promise;
    for (const row of sampleRows(5)) ledger.record(row);
    const closed = ledger.close();
    allowed.resolve();
    expect(await closed).toBe(0);
    expect(await setting.written()).toBe(15);
  });

  it('waits for rows on their way from the disk to the store', async () => {
    setting.trouble = out;
    const before = setting.ledger();
    for (const row of sampleRows(5)) before.record(row);
    await before.close();
    const [begun, allowed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    setting.trouble = () => {
      begun.resolve();
      return allowed.promise;
    };
    const ledger = setting.ledger();
    ledger.start();
    await begun.promise;
    let isClosed = false;
    const closed = ledger.close().then(() => (isClosed = true));
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    allowed.resolve();
    await closed;
    expect(await setting.written()).toBe(5);
    const left = new DiskQueue(setting.queuePath, 10);
    expect(await left.first(10)).toEqual([]);
    await left.close();
  });

  it('logs and counts each row that neither the store nor the disk takes, and returns their number', async () => {
    await writeFile(setting.queuePath, 'not a database '.repeat(1000));
    setting.trouble = out;
    const ledger = setting.ledger({ flush_ms: 60_000, batch_rows: 500 });
    const rows = [...sampleRows(12), sampleRow({ prompt_tokens: 0, completion_tokens: 0, status: 429 })];
    for (const row of rows) ledger.record(row);
    expect(await ledger.close()).toBe(13);
    expect(await setting.metric('sluice_ledger_dropped_total', 'lost')).toBe(13);
    expect(setting.lines.flatMap(({ ledger_row }) => ledger_row ?? [])).toEqual(rows);
    await rm(setting.queuePath);
  });

  it('keeps its time limit, and logs the rows still on their way', async () => {
    const store = Promise.withResolvers<void>();
    setting.trouble = () => store.promise;
    const ledger = setting.ledger({ flush_ms: 60_000, patience_ms: 60_000, close_ms: 20 });
    const rows = sampleRows(3);
    for (const row of rows) ledger.record(row);
    expect(await ledger.close()).toBe(3);
    expect(setting.lines.flatMap(({ ledger_row }) => ledger_row ?? [])).toEqual(rows);
    store.resolve();
  });
});

describe('a row without room', () => {
  it('is logged when it was paid for, and only counted otherwise', async () => {
    setting.trouble = out;
    const ledger = setting.ledger({ flush_ms: 60_000, batch_rows: 500, max_waiting: 4 });
    const billed = sampleRows(6);
    const unbilled = { prompt_tokens: 0, completion_tokens: 0 };
    for (const row of [...billed, ...sampleRows(3, unbilled)]) ledger.record(row);
    const logged = setting.lines.filter(({ ledger_row }) => ledger_row);
    expect(logged.map(({ ledger_row }) => ledger_row)).toEqual(billed.slice(4));
    expect(logged.map(({ level, reason }) => ({ level, reason }))).toEqual([
      { level: 50, reason: 'queue_full' },
      { level: 50, reason: 'queue_full' },
    ]);
    expect(await setting.metric('sluice_ledger_dropped_total', 'unbilled')).toBe(3);
  });
});
