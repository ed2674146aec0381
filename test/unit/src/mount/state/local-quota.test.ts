import { beforeEach, describe, expect, it } from '@jest/globals';
import { outagePolicySchema } from '../../../../../src/config/state-options.ts';
import type { Limit } from '../../../../../src/gateway/limits/limit-table.ts';
import type { ReservationResult } from '../../../../../src/gateway/limits/state-store.ts';
import { LocalQuota } from '../../../../../src/mount/state/local-quota.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { charge, limit } from '../../../../support/state-store-contract.ts';

const minute = [limit('requests_per_minute', 40)];
const daily = [limit('tokens_per_day', 1000)];
const day_ms = 12 * 3_600_000;

let clock: FakeClock;
let share: LocalQuota;
let asked = 0;

const open = (policies = {}, instances = 4, min_instances = 1) => {
  clock = new FakeClock();
  share = new LocalQuota(outagePolicySchema.parse(policies), min_instances, clock);
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
/** The shared store has admitted so many tokens of this instance, and says what remains. */
const heard = (limits: readonly Limit[], tokens: number, remaining: number) => {
  const statuses = limits.map(limit => ({ limit, remaining, reset_ms: day_ms }));
  return share.count(request(limits, tokens), statuses);
};

describe('the last known state of limits', () => {
  it('covers all limits of an account, also those requested one after the other', () => {
    heard(minute, 1, 30);
    heard(daily, 10, 700);
    const model = [limit('tokens_per_day', 500, 'a/large')];
    heard(model, 10, 90);
    const known = share.knownStatuses('a', [...minute, ...daily, ...model]);
    expect(known.map(({ remaining }) => remaining)).toEqual([30, 700, 90]);
  });
});

describe('limits of keys while the shared store is down', () => {
  it('have a share and a known state of their own, beside those of the account', () => {
    const ofKey = (key: string): Limit => ({ ...limit('tokens_per_day', 100), key });
    share.count(request([...daily, ofKey('key_one')], 10), [
      { limit: daily[0]!, remaining: 900, reset_ms: day_ms },
      { limit: ofKey('key_one'), remaining: 60, reset_ms: day_ms },
    ]);
    expect(share.knownStatuses('a', [ofKey('key_one'), ofKey('key_other')])).toEqual([
      { limit: ofKey('key_one'), remaining: 60, reset_ms: day_ms },
    ]);
    // 10 of its own, and a quarter of what was left: 25 in all.
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
    ['is reduced by what has been admitted before', 9, minute, () => heard(minute, 1, 30)],
    ['slides with the window of the limit', 10, minute, () => admitted(9, minute) && clock.advance(61_000)],
    ['of a day with unknown usage is a part of the whole', 25, daily, () => {}],
    ['of a day is a part of what was left, plus what it had used', 10, daily, () => heard(daily, 100, 400)],
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
    const reservation = heard(running, 1, 11);
    heard(running, 1, 10);
    expect(admitted(10, running)).toBe(1);
    reservation.settle(charge());
    expect(admitted(10, running)).toBe(1);
  });

  it('of a used-up day is zero until the day ends', () => {
    share.note('a', [{ limit: daily[0]!, remaining: 0, reset_ms: day_ms }]);
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
    share.note('a', [{ limit: daily[0]!, remaining: 0, reset_ms: day_ms }]);
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

describe('the memory of accounts in an instance', () => {
  it('is bounded', () => {
    for (let at = 0; at < 30_000; at++)
      share.note(`account-${at}`, [{ limit: daily[0]!, remaining: 7, reset_ms: day_ms }]);
    expect(share.knownStatuses('account-29999', daily)).toEqual([
      { limit: daily[0], remaining: 7, reset_ms: day_ms },
    ]);
    expect(share.knownStatuses('account-20000', daily)).toHaveLength(1);
    expect(share.knownStatuses('account-1000', daily)).toEqual([]);
  });

  it('is the latest state, for whichever model it was reported', () => {
    const of = (model: string) => [limit('tokens_per_day', 1000), limit('tokens_per_day', 500, model)];
    for (const [model, remaining] of [
      ['m', 300],
      ['n', 200],
    ] as const) {
      share.note(
        'a',
        of(model).map(limit => ({ limit, remaining, reset_ms: day_ms })),
      );
      clock.advance(10);
    }
    const remaining = (model: string) =>
      share.knownStatuses('a', of(model)).map(standing => standing.remaining);
    expect([remaining('m'), remaining('n'), remaining('o')]).toEqual([[200, 300], [200, 200], [200]]);
  });
});
