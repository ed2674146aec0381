import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { timeOrderedUuid } from '../../../../../src/common/ids.ts';
import type { LedgerEntry } from '../../../../../src/gateway/settlement/ledger-entry.ts';
import { DiskQueue } from '../../../../../src/mount/ledger/disk-queue.ts';
import type { LedgerOptions } from '../../../../../src/mount/ledger/ledger.ts';
import { StoreUnavailable } from '../../../../../src/records/record-errors.ts';
import { until } from '../../../../support/until.ts';
import { LedgerSetting, out } from './ledger-setting.ts';
import { sampleRow, sampleRows } from './sample-row.ts';

let setting: LedgerSetting;

beforeEach(async () => {
  setting = await LedgerSetting.open();
});
afterEach(() => setting.close());

/** What it reads is old when it is told. */
class LateDisk extends DiskQueue {
  override async first(limit: number): Promise<LedgerEntry[]> {
    const rows = await super.first(limit);
    await sleep(50);
    return rows;
  }
}

const openLedger = (options: Partial<LedgerOptions> = {}, max_rows = 1000) =>
  setting.ledger(options, new DiskQueue(setting.queuePath, max_rows));
const written = () => setting.written();
const metric = (name: string, label = '') => setting.metric(name, label);

describe('the ledger', () => {
  it('takes what another process hands over whole, or refuses it whole while there is no room', async () => {
    const ledger = openLedger({ max_waiting: 10, flush_ms: 60_000, batch_rows: 100 });
    ledger.take(sampleRows(8));
    expect(() => ledger.take(sampleRows(3))).toThrow(StoreUnavailable);
    ledger.take(sampleRows(2));
    await ledger.close();
    expect([await written(), await metric('sluice_ledger_dropped_total')]).toEqual([10, 0]);
  });

  it('writes rows in batches, and creates no file while the store answers', async () => {
    const sizes: number[] = [];
    setting.trouble = async rows => void sizes.push(rows.length);
    const ledger = openLedger({ patience_ms: 60_000 });
    for (const row of sampleRows(35)) ledger.record(row);
    await until(async () => (await written()) === 35);
    expect(sizes).toEqual([10, 10, 10, 5]);
    await until(async () => (await metric('sluice_ledger_rows_total')) === 35);
    expect(await metric('sluice_ledger_queue_rows')).toBe(0);
    expect(existsSync(setting.queuePath)).toBe(false);
  });

  it('leaves rows that come during a write to the next batch', async () => {
    const ledger = openLedger({ flush_ms: 60_000, patience_ms: 10_000 });
    const sizes: number[] = [];
    const [first, meanwhile, last] = [sampleRows(10), sampleRows(5), sampleRows(5)];
    setting.trouble = async rows => {
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

  it('queues rows on disk while the store is down, and writes them once when it is back', async () => {
    setting.trouble = out;
    const ledger = openLedger({ patience_ms: 60_000 });
    for (const row of sampleRows(25)) ledger.record(row);
    await until(async () => (await metric('sluice_ledger_queue_rows', 'disk')) === 25);
    expect(await metric('sluice_ledger_queue_rows', 'memory')).toBe(0);
    expect(await metric('sluice_store_up', 'operation="ledger_insert"')).toBe(0);
    expect(await metric('sluice_store_up', 'operation="changes"')).toBe(1);
    setting.trouble = undefined;
    await until(async () => (await written()) === 25);
    for (const row of sampleRows(5)) ledger.record(row);
    await until(async () => (await written()) === 30);
    // Told once the store has confirmed what it wrote.
    await until(async () => (await metric('sluice_ledger_queue_rows')) === 0);
    await until(async () => (await metric('sluice_store_up', 'operation="ledger_insert"')) === 1);
  });

  it('shows the age of the oldest row that waits in memory, among refusals or on disk, and 0 without one', async () => {
    const age_s = () => metric('sluice_ledger_oldest_row_age_seconds');
    const madeAgo = (seconds: number) => ({ id: timeOrderedUuid(Date.now() - 1000 * seconds) });
    const expectAge = async (seconds: number) => {
      expect(await age_s()).toBeGreaterThanOrEqual(seconds);
      expect(await age_s()).toBeLessThan(seconds + 60);
    };
    setting.trouble = out;
    const ledger = openLedger({ flush_ms: 100, refusals_ms: 60_000 });
    expect(await age_s()).toBe(0);
    ledger.record(sampleRow(madeAgo(300)));
    await expectAge(300);
    const refusal = {
      attempts: 0,
      end_reason: 'refused',
      prompt_tokens: 0,
      completion_tokens: 0,
      cost_usd: '0',
    };
    ledger.record(sampleRow({ ...madeAgo(600), ...refusal }));
    await expectAge(600);
    await ledger.close();
    expect(await age_s()).toBe(0);

    const next = openLedger();
    next.start();
    await until(async () => (await age_s()) > 0);
    await expectAge(600);
    setting.trouble = undefined;
    await until(async () => (await age_s()) === 0);
    await until(async () => (await written()) === 2);
  });

  it('loses no row that goes to disk just when the disk was found empty', async () => {
    setting.trouble = out;
    const ledger = setting.ledger({ patience_ms: 5000 }, new LateDisk(setting.queuePath, 1000));
    ledger.record(sampleRow());
    await until(async () => (await metric('sluice_ledger_queue_rows', 'disk')) === 1);
    setting.trouble = undefined;
    for (let at = 0; at < 50; at++) {
      ledger.record(sampleRow());
      await sleep(5);
    }
    await until(async () => (await written()) === 51);
  });

  it('bypasses a slow store, and does not repeat what that wrote late', async () => {
    // Slow until the rows are on the disk.
    let wasOnDisk = false;
    const isOnDisk = async () => (wasOnDisk ||= (await metric('sluice_ledger_queue_rows', 'disk')) > 0);
    setting.trouble = () => until(isOnDisk);
    const ledger = openLedger();
    for (const row of sampleRows(20)) ledger.record(row);
    await until(isOnDisk);
    await until(async () => (await written()) === 20);
    await until(async () => (await metric('sluice_ledger_queue_rows')) === 0);
    await ledger.close();
    expect(await written()).toBe(20);
  });

  it('moves all rows from the disk to the store before it is closed, batch by batch, where the store was slow only', async () => {
    // Slow until the rows are on the disk.
    let wasOnDisk = false;
    const isOnDisk = async () => (wasOnDisk ||= (await metric('sluice_ledger_queue_rows', 'disk')) > 0);
    setting.trouble = () => until(isOnDisk);
    const ledger = openLedger({ flush_ms: 60_000, batch_rows: 10, retry_ms: 60_000 });
    for (const row of sampleRows(45)) ledger.record(row);
    await ledger.close();
    expect(await written()).toBe(45);
    expect(await metric('sluice_ledger_queue_rows')).toBe(0);
    const disk = new DiskQueue(setting.queuePath, 1000);
    expect(disk.exists).toBe(true);
    expect(await disk.first(100)).toEqual([]);
    await disk.close();
  });

  it('does not repeat what a store wrote without confirming it', async () => {
    let isFirst = true;
    setting.trouble = async rows => {
      if (!isFirst) return;
      isFirst = false;
      await setting.store.ledger.insert(rows);
      throw new StoreUnavailable('the connection was lost after COMMIT');
    };
    const ledger = openLedger();
    for (const row of sampleRows(10)) ledger.record(row);
    await until(async () => (await written()) === 10);
    await ledger.close();
    expect(await setting.store.usage.sum({ by: [] })).toMatchObject([{ requests: 10, prompt_tokens: 100 }]);
  });

  it('leaves rows on disk when it is closed during an outage, for the next process to write', async () => {
    setting.trouble = out;
    const ledger = openLedger();
    for (const row of sampleRows(25)) ledger.record(row);
    await ledger.close();
    expect(await written()).toBe(0);
    setting.trouble = undefined;
    const next = openLedger();
    next.start();
    await until(async () => (await written()) === 25);
    expect(await metric('sluice_ledger_dropped_total')).toBe(0);
  });

  it('writes rows that an earlier or a later version has left on disk', async () => {
    const {
      cache_creation_tokens: _,
      attempts_made,
      code: __,
      stream: ___,
      trace_id: ____,
      ...early
    } = sampleRow();
    const attempt = { ...attempts_made[0]!, region: 'eu' };
    const later = { ...sampleRow(), attempts_made: [attempt], shard: 3 };
    const disk = new DiskQueue(setting.queuePath, 1000);
    await disk.append([early as LedgerEntry, later]);
    await disk.close();
    openLedger().start();
    await until(async () => (await written()) === 2);
    expect(await metric('sluice_ledger_dropped_total')).toBe(0);
  });

  it('writes rows once when several processes share the file', async () => {
    setting.trouble = out;
    const ledgers = [openLedger(), openLedger(), openLedger()];
    for (const ledger of ledgers) for (const row of sampleRows(20)) ledger.record(row);
    await Promise.all(ledgers.map(ledger => ledger.close()));
    setting.trouble = undefined;
    const next = [openLedger(), openLedger()];
    for (const ledger of next) ledger.start();
    await until(async () => (await written()) === 60);
    await Promise.all(next.map(ledger => ledger.close()));
    expect(await written()).toBe(60);
  });

  it('skips a row that the store rejects, and writes those around it', async () => {
    const ledger = openLedger({ patience_ms: 60_000 });
    const rows = sampleRows(10);
    for (const row of rows) ledger.record(row);
    ledger.record(sampleRow({ cost_usd: '0.0000000000001' }));
    ledger.record(sampleRow({ cost_usd: '99999999999' }));
    ledger.record(sampleRow({ started_ms: Number.NaN }));
    for (const row of sampleRows(9)) ledger.record(row);
    await until(async () => (await written()) === 19);
    await until(async () => (await metric('sluice_ledger_dropped_total', 'refused')) === 3);
  });

  it('drops free rows before paid ones, and counts both', async () => {
    const ledger = openLedger({ flush_ms: 60_000, batch_rows: 500, max_waiting: 20 });
    const unbilled = { prompt_tokens: 0, completion_tokens: 0, status: 429 };
    for (const row of sampleRows(30, unbilled)) ledger.record(row);
    expect(await metric('sluice_ledger_dropped_total', 'unbilled')).toBe(20);
    for (const row of sampleRows(30)) ledger.record(row);
    expect(await metric('sluice_ledger_dropped_total', 'queue_full')).toBe(20);
    await ledger.close();
    expect(await written()).toBe(20);
  });

  it('drops rows that the disk has no room for', async () => {
    setting.trouble = out;
    const ledger = openLedger({}, 15);
    for (const row of sampleRows(40)) ledger.record(row);
    await until(async () => (await metric('sluice_ledger_dropped_total', 'queue_full')) === 25);
    setting.trouble = undefined;
    await until(async () => (await written()) === 15);
  });

  it('keeps rows in memory while store and disk are both out, and writes them to the first that is back', async () => {
    await writeFile(setting.queuePath, 'not a database, however often it is tried '.repeat(100));
    let tries = 0;
    setting.trouble = () => {
      tries++;
      return out();
    };
    const ledger = openLedger();
    for (const row of sampleRows(25)) ledger.record(row);
    await until(async () => tries > 5 && (await metric('sluice_ledger_queue_rows', 'memory')) === 25);
    expect(await metric('sluice_ledger_dropped_total')).toBe(0);
    setting.trouble = undefined;
    await until(async () => (await written()) === 25);
  });
});

describe('the refusals in the ledger', () => {
  const throttled = { attempts: 0, status: 429, error_type: 'rate_limit_error', end_reason: 'refused' };
  const free = { ...throttled, prompt_tokens: 0, completion_tokens: 0, cost_usd: '0' };
  const refusals = () => setting.store.usage.refusals({ limit: 9 });

  it('are one sum and a few rows, however many there are', async () => {
    const ledger = openLedger({ refusals_ms: 5 });
    for (const row of sampleRows(5000, free)) ledger.record(row);
    await until(async () => (await written()) === 5000);
    for (const row of sampleRows(2, free)) ledger.record(row);
    ledger.record(sampleRow());
    await ledger.close();
    const sampled = (await setting.store.ledger.list({ end_reason: 'refused', limit: 99 })).length;
    // Five of a minute, and the next one may have begun.
    expect(sampled).toBeGreaterThanOrEqual(5);
    expect(sampled).toBeLessThanOrEqual(10);
    expect(await refusals()).toEqual([
      {
        day: '2026-11-20',
        account: 'acme',
        key_id: '',
        model: 'v/one',
        status: 429,
        error_type: 'rate_limit_error',
        end_reason: 'refused',
        requests: 5002,
      },
    ]);
    expect(await setting.store.usage.sum({ by: ['account', 'model', 'day'] })).toMatchObject([
      { account: 'acme', requests: 5003, failed_requests: 5002, prompt_tokens: 10 },
    ]);
  });

  it('are summed by account, key, model, status and end reason', async () => {
    const ledger = openLedger();
    const kinds = [
      {},
      { account: 'other' },
      { key_id: 'key_1' },
      { model: null, status: 400, error_type: 'invalid_request_error' },
      { status: 0, error_type: null, end_reason: 'client_gone' },
      { started_ms: Date.parse('2026-11-21T00:00:00Z') },
    ];
    for (const kind of kinds) ledger.record(sampleRow({ ...free, ...kind }));
    await ledger.close();
    expect(await refusals()).toHaveLength(6);
    // A client that leaves is no failure.
    expect(await setting.store.usage.sum({ by: [] })).toMatchObject([{ requests: 6, failed_requests: 5 }]);
  });

  it('are rows where an upstream was asked or something was used', async () => {
    const ledger = openLedger();
    const rows = [{ attempts: 1 }, { prompt_tokens: 1 }, { cost_usd: '0.1' }, { end_reason: 'completed' }];
    for (const row of rows) ledger.record(sampleRow({ ...free, ...row }));
    await ledger.close();
    expect(await setting.store.ledger.list({ limit: 9 })).toHaveLength(4);
    expect(await refusals()).toEqual([]);
  });

  it('wait on disk while the store is down, and are counted once even when sent twice', async () => {
    let isFirst = true;
    setting.trouble = async entries => {
      if (isFirst) await setting.store.ledger.insert(entries);
      isFirst = false;
      throw new StoreUnavailable('the connection was lost after COMMIT');
    };
    const ledger = openLedger({ refusals_ms: 5 });
    for (const row of sampleRows(30, free)) ledger.record(row);
    await until(async () => (await metric('sluice_ledger_queue_rows', 'disk')) === 1);
    await ledger.close();
    setting.trouble = undefined;
    const next = openLedger();
    next.start();
    await until(async () => (await metric('sluice_ledger_queue_rows', 'disk')) === 0);
    expect(await refusals()).toMatchObject([{ requests: 30 }]);
    expect(await written()).toBe(30);
  });

  it('are dropped and counted where they are of too many kinds', async () => {
    let kinds = 0;
    setting.takes = async entries => {
      for (const entry of entries) kinds += 'refusals' in entry ? entry.refusals.length : 0;
      return 0;
    };
    const ledger = openLedger({ refusals_ms: 60_000, patience_ms: 60_000, close_ms: 60_000 });
    for (let at = 0; at < 10_005; at++) ledger.record(sampleRow({ ...free, account: `account-${at}` }));
    expect(await metric('sluice_ledger_dropped_total', 'unbilled')).toBe(5);
    await ledger.close();
    expect(kinds).toBe(10_000);
  });
});
