import { afterEach, expect, it, jest } from '@jest/globals';
import { Registry } from 'prom-client';
import type { LedgerEntry } from '../../../../../src/gateway/settlement/ledger-entry.ts';
import { loggedRow } from '../../../../../src/mount/ledger/logged-rows.ts';
import { LostRows } from '../../../../../src/mount/ledger/lost-rows.ts';
import { BoundedLog } from '../../../../../src/telemetry/logger.ts';
import { RecordsMetrics } from '../../../../../src/telemetry/records-metrics.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { sampleRow, sampleRows } from './sample-row.ts';

let lost: LostRows;
afterEach(() => lost.close());

const { id, started_ms, account, key_id, model, attempts_made } = sampleRow();
const refused = { status: 429, error_type: 'rate_limit_error', end_reason: 'refused' };
const kinds = Array.from({ length: 500 }, (_, at) => {
  return { started_ms, account: `${account}-${at}`, key_id, model, ...refused, requests: 2 };
});
const many = Array.from({ length: 200 }, () => attempts_made[0]!);

it.each<[string, LedgerEntry]>([
  ['a row with 200 attempts', sampleRow({ attempts: 200, attempts_made: many })],
  ['500 kinds of refusals', { id, refusals: kinds }],
])('%s can be read whole from the line of the log that has it', (_, entry) => {
  const { log, lines } = capturedLog();
  lost = new LostRows(new RecordsMetrics(new Registry()), new BoundedLog(log));
  lost.add([entry], 'lost', new Error('the store is down'));
  expect(loggedRow(JSON.stringify(lines[0]))).toEqual({ kind: 'row', row: entry });
});

it.each([
  ['error', 1, 0],
  ['fatal', 0, 1],
] as const)(
  'a lost row with the log level %s has one line, in the log or else on standard error',
  (level, inLog, onStderr) => {
    const { log, lines } = capturedLog(level);
    const write = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      lost = new LostRows(new RecordsMetrics(new Registry()), log);
      lost.add([sampleRow()], 'refused', new Error('no'));
      const rows = lines.filter(({ ledger_row }) => ledger_row);
      expect([rows.length, write.mock.calls.length]).toEqual([inLog, onStderr]);
      if (inLog > 0) expect(rows).toMatchObject([{ reason: 'refused', err: { message: 'no' } }]);
      else
        expect(JSON.parse(String(write.mock.calls[0]![0]))).toMatchObject({ level: 50, reason: 'refused' });
    } finally {
      write.mockRestore();
    }
  },
);

it('the numbers of lost rows have a line at once, one for ten seconds after it, and the rest at the end', () => {
  jest.useFakeTimers();
  try {
    const { log, lines } = capturedLog();
    lost = new LostRows(new RecordsMetrics(new Registry()), log);
    const told: unknown[][] = [];
    const pass = (ms: number) => {
      jest.advanceTimersByTime(ms);
      told.push(lines.splice(0).map(({ dropped }) => dropped));
    };
    const add = (rows: number) => lost.add(sampleRows(rows), 'unbilled');
    add(1);
    pass(0);
    add(2);
    add(3);
    pass(9999);
    pass(1);
    pass(20_000);
    add(4);
    add(5);
    pass(0);
    lost.close();
    pass(0);
    const counts = [[1], [], [5], [], [4], [5]];
    expect(told).toEqual(counts.map(rows => rows.map(unbilled => ({ unbilled }))));
  } finally {
    jest.useRealTimers();
  }
});
