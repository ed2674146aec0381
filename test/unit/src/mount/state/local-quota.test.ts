import { beforeEach, describe, expect, it } from '@jest/globals';
import { outagePolicySchema } from '../../../../../src/config/state-options.ts';
import { amountsOf, type Limit } from '../../../../../src/gateway/limits/limit-table.ts';
import type { ReservationResult } from '../../../../../src/gateway/limits/state-store.ts';
import { LeaseHolder } from '../../../../../src/mount/state/leases/lease-holder.ts';
import { LeaseTable } from '../../../../../src/mount/state/leases/lease-table.ts';
import { LocalQuota } from '../../../../../src/mount/state/local-quota.ts';
import { machine_times } from '../../../../../src/records/lease-protocol.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { charge, limit } from '../../../../support/state-store-contract.ts';

const minute = [limit('requests_per_minute', 40)];
const daily = [limit('tokens_per_day', 1000)];
const day_ms = 12 * 3_600_000;

let clock: FakeClock;
let holder: LeaseHolder;
let table: LeaseTable;
let share: LocalQuota;
let asked = 0;

const open = (policies = {}, instances = 4, min_instances = 1) => {
  clock = new FakeClock();
  holder = new LeaseHolder(machine_times);
  table = new LeaseTable(clock, 'one', machine_times);
  share = new LocalQuota(outagePolicySchema.parse(policies), min_instances, clock, holder);
  share.instances = instances;
};
beforeEach(() => open());

const request = (limits: readonly Limit[], tokens = 10, account = 'a') => ({
  id: `${++asked}`,
  account,
  limits,
  charge: charge(tokens, tokens),
});
const take = (limits: readonly Limit[], tokens?: number): ReservationResult =>
  share.reserve(request(limits, tokens), new Error('out'));
const admitted = (times: number, limits: readonly Limit[], tokens?: number) =>
  Array.from({ length: times }, () => take(limits, tokens)).filter(taken => taken.admitted).length;

/** Of another holder. */
const report = (of: LeaseHolder) => {
  for (let sent = of.tick(clock.elapsed_ms()); sent.length > 0; sent = of.tick(clock.elapsed_ms()))
    for (const message of sent)
      of.receive(table.exchange(of === holder ? 'own' : 'other', message), clock.elapsed_ms());
};
/** The shared store has admitted so many tokens of this instance, and says what remains. */
const heard = (limits: readonly Limit[], tokens: number, remaining: number) => {
  const other = new LeaseHolder(machine_times);
  const amounts = amountsOf(limits, charge(tokens, tokens), 1);
  const others = limits.map(({ max }, at) => max - remaining - amounts[at]!);
  other.reserve('a', limits, others, clock.elapsed_ms(), true);
  report(other);
  const held = holder.reserve('a', limits, amounts, clock.elapsed_ms(), true);
  report(holder);
  return held;
};

describe('limits of keys while the shared store is down', () => {
  it('have a share of their own, beside those of the account', () => {
    const ofKey = (key: string): Limit => ({ ...limit('tokens_per_day', 100), key });
    heard([ofKey('key_one')], 10, 60);
    // A quarter of what was left.
    expect(admitted(9, [...daily, ofKey('key_one')], 5)).toBe(3);
    expect(take([...daily, ofKey('key_one')], 5)).toMatchObject({ refused_by: ofKey('key_one') });
    // Nothing is known of the other key: a quarter of its limit.
    expect(admitted(9, [...daily, ofKey('key_other')], 5)).toBe(5);
  });
});

describe('the local quota of an instance', () => {
  const models = [limit('requests_per_minute', 40), limit('requests_per_minute', 8, 'm')];
  it.each<[string, number, readonly Limit[], () => unknown]>([
    ['is the limit divided by the instances', 10, minute, () => {}],
    ['is rounded down', 5, minute, () => open({}, 7)],
    ['is at least one', 1, minute, () => open({}, 100)],
    ['is the limit divided by min_instances where fewer are known', 8, minute, () => open({}, 1, 5)],
    ['is the limit divided by the instances where those are more', 4, minute, () => open({}, 10, 5)],
    ['is a part of what was left', 7, minute, () => heard(minute, 1, 30)],
    [
      'is a part of the whole once nothing counts of what was heard',
      10,
      minute,
      () => heard(minute, 1, 30) && clock.advance(61_000),
    ],
    ['slides with the window of the limit', 10, minute, () => admitted(9, minute) && clock.advance(61_000)],
    ['of a day with unknown usage is a part of the whole', 25, daily, () => {}],
    ['of a day is a part of what was left', 10, daily, () => heard(daily, 100, 400)],
    ['of a used-up day is nothing', 0, daily, () => heard(daily, 100, 0)],
    ['follows a limit that has been raised', 10, [limit('tokens_per_day', 1400)], () => heard(daily, 100, 0)],
    ['is separate for each model', 2, models, () => {}],
    ['is not that of a model for others', 8, minute, () => admitted(2, models)],
  ])('%s', (_, expected, limits, before) => {
    before();
    expect(admitted(100, limits)).toBe(expected);
  });

  it('of a day is what was left divided by min_instances where fewer are known', () => {
    open({}, 1, 5);
    heard(daily, 100, 400);
    expect(admitted(100, daily)).toBe(8);
  });

  it('admits nothing above the share of a hard limit, also while it is unused', () => {
    const hard = [{ ...limit('usd_per_month', 1000), hard: true as const }];
    const asked = (nano_usd: number) =>
      share.reserve(
        { ...request(hard), charge: { ...charge(), ceiling: { tokens: 0, nano_usd } } },
        new Error(),
      );
    expect(asked(251)).toMatchObject({ admitted: false, retry_ms: 1000 });
    expect(asked(250).admitted).toBe(true);
    expect(take([limit('usd_per_month', 1000, 'm')], 251).admitted).toBe(true);
  });

  it('of concurrency is reduced by what is still running', () => {
    const running = [limit('concurrent_requests', 12)];
    const held = heard(running, 1, 11);
    heard(running, 1, 10);
    expect(admitted(10, running)).toBe(1);
    held.settle([]);
    expect(admitted(10, running)).toBe(1);
  });

  it('of a used-up day is zero until the day ends', () => {
    heard(daily, 1000, 0);
    expect(take(daily, 1)).toMatchObject({
      admitted: false,
      refused_by: daily[0],
      retry_ms: day_ms,
      statuses: [{ limit: daily[0], remaining: 0 }],
    });
    clock.advance(day_ms);
    expect(admitted(100, daily, 10)).toBe(25);
  });

  it('is reported as the remainder of the limit itself', () => {
    const taken = take(minute);
    expect(taken.statuses).toEqual([{ limit: minute[0], remaining: 9, reset_ms: expect.any(Number) }]);
    for (let at = 0; at < 9; at++) take(minute);
    expect(take(minute)).toMatchObject({ admitted: false, refused_by: minute[0] });
    expect(share.statuses('a', minute)[0]).toMatchObject({ limit: minute[0], remaining: 0 });
  });
});

describe('the outage policy of a limit', () => {
  const both = [limit('requests_per_minute', 4), limit('usd_per_month', 1000)];

  it('applies no limit with `open`, and still counts', () => {
    open({ default: 'open' });
    expect(admitted(100, both)).toBe(100);
    expect(share.statuses('a', both).map(({ remaining }) => remaining)).toEqual([0, 0]);
    expect(share.policy(both)).toBe('open');
  });

  it('applies other limits with `local` beside `open`', () => {
    open({ default: 'local', usd_per_month: 'open' }, 2);
    expect(admitted(100, both)).toBe(2);
    expect(share.policy(both)).toBe('local');
  });

  it('rejects every account that has the limit with `closed`, with the cause only in the log', () => {
    open({ usd_per_month: 'closed' });
    const cause = new Error('secret');
    const refusal = { status: 502, type: 'server_error', headers: { 'retry-after': '1' }, cause };
    expect(() => share.reserve(request(both), cause)).toThrow(expect.objectContaining(refusal));
    expect(() => share.reserve(request(both), cause)).not.toThrow('secret');
    expect(take([both[0]!]).admitted).toBe(true);
    expect(share.policy(both)).toBe('closed');
  });

  it('rejects nothing in a dry run', () => {
    for (const policy of ['open', 'closed', 'local']) {
      open({ default: policy });
      for (let at = 0; at < 10; at++)
        expect(share.reserve({ ...request(both), force: true }, undefined).admitted).toBe(true);
    }
  });

  it('rejects nothing in a dry run on a day that is used up, and reports it', () => {
    heard(daily, 1000, 0);
    expect(share.reserve({ ...request(daily), force: true }, undefined)).toMatchObject({
      admitted: true,
      reservation: { over: [daily[0]] },
    });
  });

  it('reports with `local` which limits a dry run exceeds', () => {
    open({}, 2);
    const over = () => {
      const taken = share.reserve({ ...request(both), force: true }, undefined);
      return taken.admitted ? taken.reservation.over : [];
    };
    expect([over(), over(), over()]).toEqual([[], [], [both[0]]]);
  });
});

describe('what a local quota has admitted', () => {
  it('is counted once the store is back: what counts still, and what runs until it is settled', () => {
    const all = [...minute, ...daily, limit('concurrent_requests', 12)];
    const admit = () => {
      const taken = take(all);
      if (!taken.admitted) throw new Error(taken.refused_by.name);
      return taken.reservation;
    };
    const used = () => {
      report(holder);
      clock.advance(machine_times.report_ms);
      const { rows } = holder.ask('a', all, clock.elapsed_ms());
      report(holder);
      return rows.map((row, at) => all[at]!.max - row.status(all[at]!, clock.elapsed_ms())!.remaining);
    };
    open({}, 1);
    admit().settle(charge(7));
    clock.advance(61_000);
    admit().settle(charge(15));
    const running = admit();
    expect(share.waiting).toBe(3);
    share.handOver('a');
    expect(share.waiting).toBe(0);
    expect(used()).toEqual([2, 32, 1]);
    for (let time = 0; time < 2; time++) running.settle(charge(4));
    expect(used()).toEqual([2, 26, 0]);
  });
});
