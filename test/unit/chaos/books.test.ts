import { beforeEach, describe, expect, it } from '@jest/globals';
import type { LedgerRow } from '../../../src/stores/records/ledger-entry.ts';
import { Books, surely_later_ms } from '../../chaos/books.ts';
import { chat, type Errand, type Kind } from '../../chaos/clients/errand.ts';
import type { GatewayProcess } from '../../chaos/gateway-process.ts';

const errand: Errand = { request: chat('Hello x1-1'), endings: ['completed'] };
const kind: Kind = { name: 'whole reply', weight: 1, good: true, make: () => errand };
const absences: GatewayProcess['absences'] = [];
const gateway = { absences } as unknown as GatewayProcess;
const id = 'x1-1';
const name = `${id} (whole reply)`;
const usage = { prompt_tokens: 3, completion_tokens: 5 };

let now_ms: number;
let books: Books;
beforeEach(() => {
  absences.length = 0;
  now_ms = 1000;
  books = new Books(() => now_ms);
  void books.begin(id, kind, errand, gateway);
});

const call = (number: number, provider = 'p1.1') => {
  books.call(provider, { at: 'begin', call: number }, false);
  books.call(provider, { at: 'word', call: number, id }, false);
  books.call(provider, { at: 'end', call: number, id, finished: true, ...usage }, false);
};
const row = (more: Partial<LedgerRow> = {}) =>
  books.row({ request_id: id, end_reason: 'completed', estimated: false, ...usage, ...more } as LedgerRow);
const record = (end_reason = 'completed') =>
  books.line(JSON.stringify({ level: 30, request_id: id, endpoint: 'chat', end_reason, status: 200 }));
const reply = (text = '', status = 200) => books.end(id, { status, text, complete: true, fault: undefined });

describe('the chaos run audit', () => {
  it('finds no fault when all sides agree about an exchange', () => {
    call(1);
    record();
    reply();
    row();
    expect(books).toMatchObject({ lost: [], doubled: [], missing: [], faults: [], compared: 1 });
  });

  it('reports an exchange as lost when its upstream reply began and it has no row', () => {
    call(1);
    expect(books.lost).toEqual([name]);
  });

  it('accepts a missing row when the provider never began to answer', () => {
    books.call('p1.1', { at: 'begin', call: 1 }, false);
    books.call('p1.1', { at: 'end', call: 1, id, finished: false }, false);
    expect(books.lost).toEqual([]);
  });

  it('excuses and counts exchanges lost with a killed instance', () => {
    call(1);
    reply();
    absences.push({ from_ms: now_ms + 250, until_ms: Number.POSITIVE_INFINITY });
    expect(books).toMatchObject({ lost: [], lost_with_instances: { count: 1, oldest_ms: 250 } });
  });

  it('reports an exchange with two rows as doubled', () => {
    call(1);
    row();
    row();
    expect(books.doubled).toEqual([name]);
  });

  it('reports an exchange as doubled when it is retried after its first chunk', () => {
    call(1);
    now_ms += surely_later_ms + 1;
    call(2, 'p2.1');
    expect(books.doubled).toEqual([name]);
  });

  it('accepts a retry before the first chunk', () => {
    books.call('p1.1', { at: 'begin', call: 1 }, false);
    call(2, 'p2.1');
    row();
    expect(books.doubled).toEqual([]);
  });

  it('reports token counts that differ from those of the provider', () => {
    call(1);
    row({ completion_tokens: 6 });
    expect(books.faults).toEqual([`${name}: has 3 + 6 tokens in the ledger, and its provider told 3 + 5`]);
  });

  it('compares a row with the completed call, not with one that hung and began later', () => {
    call(1, 'p2.1');
    books.call('p1.1', { at: 'begin', call: 1 }, true);
    books.call('p1.1', { at: 'word', call: 1, id }, true);
    books.call(
      'p1.1',
      { at: 'end', call: 1, id, finished: false, prompt_tokens: 3, completion_tokens: 1 },
      true,
    );
    row();
    expect(books).toMatchObject({ faults: [], compared: 1, doubled: [] });
  });

  it('reports an unexpected end reason and an unexpected status', () => {
    record('internal_error');
    reply('', 500);
    expect(books.faults).toEqual([
      `${name}: is recorded as internal_error instead of completed`,
      `${name}: was answered 500 and is recorded with 200`,
    ]);
  });

  it('reports an exchange without a log record', () => {
    reply();
    expect(books.missing).toEqual([name]);
  });

  it('counts the messages of error log lines', () => {
    books.line(JSON.stringify({ level: 50, msg: 'failed to finalize request' }));
    expect([...books.alarms]).toEqual([['failed to finalize request', 1]]);
  });
});
