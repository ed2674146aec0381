import { afterEach, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { loggedRow } from '../../../../../src/stores/ledger/logged-rows.ts';
import { LostRows } from '../../../../../src/stores/ledger/lost-rows.ts';
import type { LedgerEntry } from '../../../../../src/stores/records/ledger-entry.ts';
import { BoundedLog } from '../../../../../src/telemetry/logger.ts';
import { RecordsMetrics } from '../../../../../src/telemetry/records-metrics.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { sampleRow } from './sample-row.ts';

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
