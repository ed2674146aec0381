import { describe, expect, it } from '@jest/globals';
import type { Limit } from '../../../../../../src/gateway/limits/limit-table.ts';
import { LeaseTable } from '../../../../../../src/mount/state/leases/lease-table.ts';
import type { LeaseMessage } from '../../../../../../src/records/lease-protocol.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';
import { times, told_times } from './lease-world.ts';

const daily: Limit = { name: 'tokens_per_day', max: 100 };
const perMinute: Limit = { name: 'requests_per_minute', max: 10 };
const running: Limit = { name: 'concurrent_requests', max: 4 };

describe('a table of leases', () => {
  const open = (limits = [daily], own_times = times) => {
    const clock = new FakeClock();
    const table = new LeaseTable(clock, 'one', own_times);
    const seqs = new Map<string, number>();
    const message = (holder: string, parts: Partial<LeaseMessage> = {}, row = {}): LeaseMessage => {
      seqs.set(holder, (seqs.get(holder) ?? 0) + 1);
      const rows = limits.map(limit => ({ limit, used: 0, back: 0, block: 0, refunds: [], ...row }));
      const as_of = { generation: 'one', at_ms: clock.elapsed_ms() };
      return { account: 'a', session: 1, seq: seqs.get(holder)!, as_of, rows, wants: [], ...parts };
    };
    const exchange = (holder: string, parts: Partial<LeaseMessage> = {}, row = {}) =>
      table.exchange(holder, message(holder, parts, row));
    const want = (...amounts: number[]) => ({ wants: [{ amounts, force: false }] });
    const used = () => exchange('observer').counted?.rows.map(({ used }) => used);
    return { clock, table, message, exchange, want, used };
  };

  it('counts a message once, and answers its copies with the same words', () => {
    const { clock, table, message, want, used } = open();
    const asked = message('a', want(60));
    const answer = table.exchange('a', asked);
    clock.advance(20);
    for (let again = 0; again < 2; again++) expect(table.exchange('a', asked)).toEqual(answer);
    expect(used()).toEqual([60]);
  });

  it('counts a want under all of its limits or under none', () => {
    const { exchange, want, used } = open([daily, perMinute]);
    expect(exchange('a', want(50, 11)).counted?.verdicts).toEqual([expect.objectContaining({ over: [] })]);
    expect(exchange('a', want(50, 1)).counted?.verdicts).toEqual([
      { over: [1], refused_by: 1, retry_ms: 60_000, is_held: false },
    ]);
    expect(used()).toEqual([50, 11]);
  });

  it('returns what was settled to the day in which it counted, and to none when that is over', () => {
    const { clock, exchange, want, used } = open();
    const { as_of } = exchange('a', want(60));
    exchange('a', {}, { refunds: [[as_of.at_ms, 20]] });
    expect(used()).toEqual([40]);
    clock.set(86_400_000);
    clock.advance(1);
    exchange('b', want(30));
    exchange('a', {}, { refunds: [[as_of.at_ms, 20]] });
    expect(used()).toEqual([30]);
  });

  it('counts what a silent holder has left of its blocks as used, until it gives it back', () => {
    const { clock, exchange, used } = open();
    expect(exchange('a', {}, { block: 30 }).counted?.rows[0]).toMatchObject({ granted: 30, free: 70 });
    clock.advance(times.lease_ms);
    expect(used()).toEqual([30]);
    const late = exchange('a', {}, { used: 10, block: 30 }).counted;
    expect(late).toMatchObject({ is_expired: true, rows: [{ granted: 0, used: 30 }] });
    exchange('a', {}, { back: 20 });
    expect(used()).toEqual([10]);
  });

  it('frees the concurrency of a holder that has ended, and of one that is silent', () => {
    const { clock, table, exchange, want, used } = open([running]);
    exchange('a', want(2));
    exchange('b', want(2));
    table.end('a');
    expect(used()).toEqual([2]);
    clock.advance(times.lease_ms);
    expect(used()).toEqual([0]);
  });

  it.each([
    ['of another generation', { as_of: { generation: 'two', at_ms: 5000 } }],
    ['after a gap', { seq: 7 }],
    ['of a session that has not begun', { session: 2, seq: 2 }],
    ['without a time', { as_of: undefined }],
  ])('counts no message %s', (_, parts) => {
    const { exchange, want, used } = open();
    exchange('a');
    expect(exchange('a', { ...want(60), ...parts })).not.toHaveProperty('counted');
    expect(used()).toEqual([0]);
  });

  it('counts no late copy of a message whose session it has forgotten', () => {
    const { clock, table, message, want, used } = open();
    const asked = message('a', want(10));
    table.exchange('a', asked);
    clock.advance(11 * times.lease_ms);
    for (let sweep = 0; sweep < 5; sweep++) used();
    expect(table.exchange('a', asked)).not.toHaveProperty('counted');
    expect(used()).toEqual([10]);
  });

  it('asks blocks back for which another holder waits, and grants none meanwhile', () => {
    const { table, exchange, want } = open();
    exchange('a', {}, { block: 50 });
    expect(exchange('b', want(60)).counted?.verdicts[0]).toMatchObject({ refused_by: 0, is_held: true });
    expect(table.takeAsked()).toEqual([['a', 'a']]);
    expect(table.takeAsked()).toEqual([]);
    expect(exchange('a', {}, { block: 60 }).counted?.rows[0]).toMatchObject({
      granted: 0,
      is_asked_back: true,
    });
    exchange('a', {}, { back: 50 });
    expect(exchange('b', want(60)).counted?.verdicts[0]).toMatchObject({ over: [] });
  });

  it('asks others for what they have not used before it refuses, once, where their reports come late', () => {
    const { clock, table, exchange, want } = open([daily], told_times);
    const { as_of } = exchange('a', want(60));
    const verdict = () => exchange('b', want(50)).counted?.verdicts[0];
    expect(verdict()).toMatchObject({ refused_by: 0, is_held: true });
    expect(table.takeAsked()).toEqual([['a', 'a']]);
    // It may be that it does not answer.
    clock.advance(told_times.patience_ms);
    expect(verdict()).toMatchObject({ refused_by: 0, is_held: false });
    expect(table.takeAsked()).toEqual([]);
    exchange('a', {}, { refunds: [[as_of.at_ms, 50]] });
    expect(verdict()).toMatchObject({ over: [] });
  });

  it('grants blocks of whole units, and none where half of the rest has no unit for each holder', () => {
    const { exchange, want } = open([perMinute]);
    exchange('a');
    exchange('b', want(3));
    expect(exchange('a', {}, { block: 9 }).counted?.rows[0]).toMatchObject({ granted: 1, free: 6 });
    exchange('b', want(4));
    expect(exchange('a', {}, { block: 9 }).counted?.rows[0]).toMatchObject({ granted: 0, free: 2 });
  });

  it('forgets accounts and holders that have been idle, a few with every message', () => {
    const { clock, table, exchange, want } = open([perMinute]);
    for (let account = 0; account < 1000; account++)
      exchange(`${account}`, { account: `${account}`, ...want(1) });
    expect(table.size).toBe(1000);
    clock.advance(11 * times.lease_ms + 60_000);
    for (let message = 0; message < 1100; message++) exchange('b');
    expect(table.size).toBe(1);
  });
});
