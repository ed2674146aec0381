import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { LedgerEntry, LedgerRow } from '../../../../../src/gateway/settlement/ledger-entry.ts';
import { insertAccepted } from '../../../../../src/mount/ledger/ledger-writer.ts';
import { RecordRefused, StoreUnavailable } from '../../../../../src/records/record-errors.ts';
import { until } from '../../../../support/until.ts';
import { LedgerSetting } from './ledger-setting.ts';
import { sampleRow, sampleRows } from './sample-row.ts';

/** A store that refuses `bad`, takes a moment over everything, and remembers what it has taken. */
const storeThatRefuses = (bad: LedgerRow, fails: (rows: readonly LedgerEntry[]) => boolean = () => false) => {
  const taken = new Set<string>();
  const insert = async (rows: readonly LedgerEntry[]): Promise<number> => {
    await new Promise(setImmediate);
    if (rows.includes(bad)) throw new RecordRefused('no');
    if (fails(rows)) throw new StoreUnavailable('out');
    for (const { id } of rows) taken.add(id);
    return rows.length;
  };
  return { taken, insert };
};

describe('a write of rows of which the store rejects one', () => {
  it.each([0, 3, 7])('ends only when all the others are in the store: the bad one is number %i', async at => {
    const rows = sampleRows(8);
    const bad = rows[at]!;
    const { taken, insert } = storeThatRefuses(bad);
    const refused: LedgerEntry[] = [];
    expect(await insertAccepted(insert, rows, row => refused.push(row))).toBe(7);
    expect(taken).toEqual(new Set(rows.filter(row => row !== bad).map(({ id }) => id)));
    expect(refused).toEqual([bad]);
  });

  it.each([
    ['first', 0, 7],
    ['second', 7, 0],
  ])(
    'rejects when the store goes out over the %s half, so that no row counts as written',
    async (_, lost, bad) => {
      const rows = sampleRows(8);
      const { insert } = storeThatRefuses(rows[bad]!, part => part.includes(rows[lost]!));
      await expect(insertAccepted(insert, rows, () => {})).rejects.toThrow(StoreUnavailable);
    },
  );
});

describe('a write of rows with a time limit', () => {
  let setting: LedgerSetting;

  beforeEach(async () => {
    setting = await LedgerSetting.open();
  });
  afterEach(() => setting.close());

  /** A ledger whose first write does not end until `write` is settled. */
  const ledgerWithSlowWrite = () => {
    const write = Promise.withResolvers<void>();
    let isFirst = true;
    setting.trouble = async () => {
      if (isFirst) {
        isFirst = false;
        return write.promise;
      }
      throw new StoreUnavailable('out');
    };
    const ledger = setting.ledger({ patience_ms: 1, retry_ms: 60_000 });
    ledger.record(sampleRow());
    return { ledger, write };
  };
  const onDisk = () => setting.metric('sluice_ledger_queue_rows', 'disk');

  it('counts as one to an unavailable store, and lets the write finish', async () => {
    const { ledger, write } = ledgerWithSlowWrite();
    await until(async () => (await onDisk()) === 1);
    expect(ledger.conditions).toEqual([expect.stringMatching(/1 row on disk .*: no answer within 1 ms$/)]);
    expect(await setting.written()).toBe(0);
    write.resolve();
    await until(async () => (await setting.written()) === 1);
  });

  it('does not let a late failure end the process', async () => {
    const { write } = ledgerWithSlowWrite();
    await until(async () => (await onDisk()) === 1);
    write.reject(new StoreUnavailable('late'));
    await new Promise(setImmediate);
    expect(await setting.written()).toBe(0);
  });
});
