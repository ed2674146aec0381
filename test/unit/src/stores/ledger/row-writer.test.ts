import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { LostRows } from '../../../../../src/stores/ledger/lost-rows.ts';
import { insertAccepted, RowWriter } from '../../../../../src/stores/ledger/row-writer.ts';
import { RecordRefused, StoreUnavailable } from '../../../../../src/stores/records/database.ts';
import type { LedgerEntry, LedgerRow } from '../../../../../src/stores/records/ledger-entry.ts';
import { createLog } from '../../../../../src/telemetry/log.ts';
import { RecordsMetrics } from '../../../../../src/telemetry/records-metrics.ts';
import { sampleRow, sampleRows } from './sample-row.ts';

const writerOver = (insert: (rows: readonly LedgerEntry[]) => Promise<number>) => {
  const metrics = new RecordsMetrics(new Registry());
  return new RowWriter({ insert }, metrics, new LostRows(metrics, createLog('silent')));
};

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
      await expect(writerOver(insert).write(rows)).rejects.toThrow(StoreUnavailable);
      await expect(writerOver(insert).writeWithin(rows, 5000)).rejects.toThrow(StoreUnavailable);
    },
  );
});

describe('a write of rows with a time limit', () => {
  it('rejects as for an unavailable store, and lets the write finish', async () => {
    let finish = (_: number): void => {};
    const writer = writerOver(() => new Promise(resolve => (finish = resolve)));
    await expect(writer.writeWithin([sampleRow()], 1)).rejects.toThrow('no answer within 1 ms');
    finish(1);
  });

  it('does not let a late failure end the process', async () => {
    let fail = (_: Error): void => {};
    const writer = writerOver(() => new Promise((_, reject) => (fail = reject)));
    await expect(writer.writeWithin([sampleRow()], 1)).rejects.toThrow(StoreUnavailable);
    fail(new StoreUnavailable('late'));
    await new Promise(setImmediate);
  });
});
