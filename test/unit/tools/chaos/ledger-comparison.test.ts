import { beforeEach, describe, expect, it } from '@jest/globals';
import type { LedgerRow } from '../../../../src/gateway/settlement/ledger-entry.ts';
import { chat, type Kind } from '../../../tools/chaos/clients/request.ts';
import { surely_later_ms } from '../../../tools/chaos/exchange-reports.ts';
import type { GatewayProcess } from '../../../tools/chaos/gateway-process.ts';
import { LedgerComparison } from '../../../tools/chaos/ledger-comparison.ts';

const request = chat('Hello x1-1');
const kind: Kind = {
  name: 'whole reply',
  weight: 1,
  endings: ['completed'],
  good: true,
  make: () => request,
};
const absences: GatewayProcess['absences'] = [];
const gateway = { absences } as unknown as GatewayProcess;
const id = 'x1-1';
const name = `${id} (whole reply)`;
const usage = { prompt_tokens: 3, completion_tokens: 5 };

let now_ms: number;
let comparison: LedgerComparison;
beforeEach(() => {
  absences.length = 0;
  now_ms = 1000;
  comparison = new LedgerComparison(() => now_ms);
  void comparison.begin(id, kind, request, gateway);
});

const call = (number: number, provider = 'p1.1') => {
  comparison.call(`${provider}.${number}`, { at: 'begin', call: number }, false);
  comparison.call(`${provider}.${number}`, { at: 'text', call: number, id }, false);
  comparison.call(`${provider}.${number}`, { at: 'end', call: number, id, finished: true, ...usage }, false);
};
const row = (more: Partial<LedgerRow> = {}) =>
  comparison.row({
    request_id: id,
    end_reason: 'completed',
    estimated: false,
    ...usage,
    ...more,
  } as LedgerRow);
const record = (end_reason = 'completed') =>
  comparison.line(JSON.stringify({ level: 30, request_id: id, endpoint: 'chat', end_reason, status: 200 }));
const reply = (text = '', status = 200) =>
  comparison.end(id, { status, text, complete: true, fault: undefined });

describe('the chaos run audit', () => {
  it('finds no fault when all sides agree about an exchange', () => {
    call(1);
    record();
    reply();
    row();
    expect(comparison).toMatchObject({ lost: [], doubled: [], missing: [], faults: [], compared: 1 });
  });

  it('reports an exchange as lost when its upstream reply began and it has no row', () => {
    call(1);
    expect(comparison.lost).toEqual([name]);
  });

  it('accepts a missing row when the provider never began to answer', () => {
    comparison.call('p1.1.1', { at: 'begin', call: 1 }, false);
    comparison.call('p1.1.1', { at: 'end', call: 1, id, finished: false }, false);
    expect(comparison.lost).toEqual([]);
  });

  it('excuses and counts exchanges lost with a killed instance', () => {
    call(1);
    reply();
    absences.push({ from_ms: now_ms + 250, until_ms: Number.POSITIVE_INFINITY });
    expect(comparison).toMatchObject({ lost: [], lost_with_instances: { count: 1, oldest_ms: 250 } });
  });

  it('reports an exchange with two rows as doubled', () => {
    call(1);
    row();
    row();
    expect(comparison.doubled).toEqual([name]);
  });

  it('reports an exchange as doubled when it is retried after its first chunk', () => {
    call(1);
    now_ms += surely_later_ms + 1;
    call(2, 'p2.1');
    expect(comparison.doubled).toEqual([name]);
  });

  it('accepts a retry before the first chunk', () => {
    comparison.call('p1.1.1', { at: 'begin', call: 1 }, false);
    call(2, 'p2.1');
    row();
    expect(comparison.doubled).toEqual([]);
  });

  it('reports token counts that differ from those of the provider', () => {
    call(1);
    row({ completion_tokens: 6 });
    expect(comparison.faults).toEqual([
      `${name}: has 3 + 6 tokens in the ledger, and its provider told 3 + 5`,
    ]);
  });

  it('compares a row with the completed call, not with one that hung and began later', () => {
    call(1, 'p2.1');
    comparison.call('p1.1.1', { at: 'begin', call: 1 }, true);
    comparison.call('p1.1.1', { at: 'text', call: 1, id }, true);
    comparison.call(
      'p1.1.1',
      { at: 'end', call: 1, id, finished: false, prompt_tokens: 3, completion_tokens: 1 },
      true,
    );
    row();
    expect(comparison).toMatchObject({ faults: [], compared: 1, doubled: [] });
  });

  it('reports an unexpected end reason and an unexpected status', () => {
    record('internal_error');
    reply('', 500);
    expect(comparison.faults).toEqual([
      `${name}: is recorded as internal_error instead of completed`,
      `${name}: was answered 500 and is recorded with 200`,
    ]);
  });

  it('reports an exchange without a log record', () => {
    reply();
    expect(comparison.missing).toEqual([name]);
  });

  it('counts the messages of error log lines', () => {
    comparison.line(JSON.stringify({ level: 50, msg: 'failed to finalize request' }));
    expect([...comparison.alarms]).toEqual([['failed to finalize request', 1]]);
  });
});
