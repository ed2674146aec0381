import { describe, expect, it } from '@jest/globals';
import { issuesOf } from '../../../../../src/common/config-error.ts';
import { counterKey, limitLabel, limitNames } from '../../../../../src/gateway/limits/limit-table.ts';
import {
  AccountLimits,
  limitOverridesSchema,
  planSchema,
} from '../../../../../src/gateway/limits/plan-limits.ts';

const plan = planSchema.parse({
  requests_per_minute: 15,
  tokens_per_minute: 20_000,
  usd_per_month: '5.25',
  models: { 'a/large': { requests_per_minute: 3, concurrent_requests: 1 } },
});

const shown = (limits: AccountLimits, model?: string) =>
  limits.of(model).limits.map(({ name, max, model }) => `${name} ${max}${model ? ` of ${model}` : ''}`);

describe('the limits of an account', () => {
  it('are those of its plan, and those of the model beside them', () => {
    const limits = new AccountLimits(plan, undefined);
    const overall = ['requests_per_minute 15', 'tokens_per_minute 20000', 'usd_per_month 5250000000'];
    expect(shown(limits)).toEqual(overall);
    expect(shown(limits, 'a/small')).toEqual(overall);
    expect(shown(limits, 'a/large')).toEqual([
      ...overall,
      'requests_per_minute 3 of a/large',
      'concurrent_requests 1 of a/large',
    ]);
  });

  it('are, below others, those of all of them: each counted for its owner, those of the root as its own', () => {
    const limitsOf = (plan: object) => ({ plan: planSchema.parse(plan), own: undefined });
    const { all, models, ...limits } = ((of: AccountLimits) => ({ all: of.all, models: of.models, of }))(
      new AccountLimits(planSchema.parse({ requests_per_minute: 1 }), undefined, undefined, {
        id: 'acme',
        parents: [
          {
            id: 'team',
            ...limitsOf({ requests_per_minute: 2, models: { 'a/large': { tokens_per_day: 3 } } }),
          },
          { id: 'org', ...limitsOf({ requests_per_minute: 4, usd_per_month: 5 }) },
        ],
      }),
    );
    const name = 'requests_per_minute';
    expect(models).toEqual(['a/large']);
    expect(limits.of.of('a/large').limits).toEqual(all);
    expect(all).toEqual([
      { name, max: 1, member: 'acme' },
      { name, max: 2, member: 'team', inherited: true },
      { name, max: 4, inherited: true },
      { name: 'usd_per_month', max: 5_000_000_000, hard: true, inherited: true },
      { name: 'tokens_per_day', max: 3, model: 'a/large', member: 'team', inherited: true },
    ]);
    expect(all.map(limitLabel)).toEqual([
      name,
      ...Array(2).fill(`parent.${name}`),
      'parent.usd_per_month',
      'parent.tokens_per_day',
    ]);
    const own = new AccountLimits(planSchema.parse({ requests_per_minute: 4 }), undefined).all;
    expect(own.map(counterKey)).toEqual([counterKey(all[2]!)]);
    expect(new Set(all.map(counterKey)).size).toBe(all.length);
  });

  it('are hard where they are on money, unless they say otherwise', () => {
    const hard = (limits: object) =>
      new AccountLimits(planSchema.parse(limits), undefined).of(undefined).limits.map(each => each.hard);
    expect(hard({ requests_per_minute: 1, tokens_per_minute: 1, usd_per_month: 5 })).toEqual([
      undefined,
      undefined,
      true,
    ]);
    expect(
      hard({
        tokens_per_minute: { limit: 1, hard: true },
        tokens_per_day: { limit: 1 },
        usd_per_month: { limit: '5', hard: false },
      }),
    ).toEqual([true, undefined, undefined]);
    const own = limitOverridesSchema.parse({ usd_per_month: { limit: 7, hard: false } });
    expect(new AccountLimits(plan, own).all).toContainEqual({ name: 'usd_per_month', max: 7_000_000_000 });
  });

  it.each([
    [
      'usd_per_month',
      { limt: 5 },
      'must be a number of dollars, or an object of limit, hard, soft, time_zone, start_day, raised',
    ],
    ['usd_per_month', true, 'must be a number of dollars, not true'],
    [
      'tokens_per_day',
      { limit: 5, hard: 'yes' },
      'must be a number, or an object of limit, hard, soft, time_zone, raised',
    ],
    [
      'tokens_per_day',
      { limit: 5, start_day: 2 },
      'unknown name; accepted here: limit, hard, soft, time_zone, raised',
    ],
    ['tokens_per_day', { limit: 5, time_zone: 'Mars/Olympus' }, 'must be a time zone such as Europe/Berlin'],
    ['usd_per_month', { limit: 5, hard: true, soft: true }, 'must not be hard and soft'],
    ['usd_total', { limit: 5, time_zone: 'UTC' }, 'unknown name; accepted here: limit, hard, soft, raised'],
    ['tokens_per_day', 'many', "must be a number, not 'many'"],
    ['requests_per_minute', { limit: 5, hard: true }, 'unknown name; accepted here: limit, soft, raised'],
  ])('accept no %s of %j', (name, rule, message) => {
    const limits = { [name]: rule };
    const { error } = planSchema.safeParse(limits);
    expect(issuesOf(error!, planSchema, limits)).toMatchObject([{ message }]);
  });

  it('count days, weeks and months in the zone of the rule, or else of the account or plan', () => {
    const ofPlan = planSchema.parse({
      time_zone: 'europe/berlin',
      usd_per_month: { limit: 5, start_day: 15 },
      tokens_per_week: { limit: 5, time_zone: 'UTC', start_day: 'sunday' },
      requests_per_day: { limit: 5, time_zone: 'Etc/UTC' },
      usd_total: 5,
      models: { 'a/large': { tokens_per_day: 7 } },
    });
    const zonesOf = (own: object) =>
      new AccountLimits(ofPlan, limitOverridesSchema.parse(own)).all.map(
        ({ name, time_zone, start_day }) => `${name} ${time_zone} ${start_day}`,
      );
    const own = ['requests_per_day undefined undefined', 'tokens_per_week undefined 7'];
    const zoned = (zone: string) => [`usd_per_month ${zone} 15`, `tokens_per_day ${zone} undefined`];
    const sorted = (lines: readonly string[]) => [...lines].sort();
    expect(sorted(zonesOf({}))).toEqual(
      sorted([...own, ...zoned('Europe/Berlin'), 'usd_total undefined undefined']),
    );
    expect(zonesOf({ time_zone: 'Asia/Tokyo' })).toEqual(expect.arrayContaining(zoned('Asia/Tokyo')));
  });

  it('are raised until a time, and keep their counter, as long as they count in the same periods', () => {
    const until = '2026-12-01T00:00:00+01:00';
    const until_ms = Date.parse(until);
    const rule = { limit: 5, raised: { limit: '7.50', until } };
    const at = (now_ms: number, more: object = {}) => {
      const plan = planSchema.parse({ usd_per_month: { ...rule, ...more }, requests_per_day: 1 });
      const limits = new AccountLimits(plan, undefined, undefined, undefined, now_ms);
      return { limit: limits.all.find(({ name }) => name === 'usd_per_month')!, ends_ms: limits.ends_ms };
    };
    expect(at(until_ms - 1)).toMatchObject({
      limit: { max: 7_500_000_000, raised_until_ms: until_ms },
      ends_ms: until_ms,
    });
    expect(at(until_ms)).toEqual({
      limit: { name: 'usd_per_month', max: 5_000_000_000, hard: true },
      ends_ms: Infinity,
    });
    const keys = [{}, { soft: true }, { limit: 9 }, { time_zone: 'UTC' }].map(more =>
      counterKey(at(until_ms, more).limit),
    );
    expect(new Set(keys)).toEqual(new Set(['usd_per_month']));
    const others = [{ time_zone: 'Asia/Tokyo' }, { start_day: 2 }].map(more => counterKey(at(0, more).limit));
    expect(new Set([...keys, ...others]).size).toBe(3);
  });

  it('are soft where they say so, and not hard then', () => {
    const limits = new AccountLimits(planSchema.parse({ usd_total: { limit: 5, soft: true } }), undefined);
    expect(limits.all).toEqual([{ name: 'usd_total', max: 5_000_000_000, soft: true }]);
    expect(limits.of(undefined)).toMatchObject({ isHard: false, countsMoney: true });
  });

  it('are replaced name by name by its own, and removed by null', () => {
    const own = limitOverridesSchema.parse({
      requests_per_minute: 100,
      usd_per_month: null,
      tokens_per_day: 7,
      models: { 'a/large': { requests_per_minute: null }, 'a/other': { tokens_per_minute: 5 } },
    });
    const limits = new AccountLimits(plan, own);
    const overall = ['requests_per_minute 100', 'tokens_per_minute 20000', 'tokens_per_day 7'];
    expect(shown(limits)).toEqual(overall);
    expect(shown(limits, 'a/large')).toEqual([...overall, 'concurrent_requests 1 of a/large']);
    expect(shown(limits, 'a/other')).toEqual([...overall, 'tokens_per_minute 5 of a/other']);
  });

  it('have those of the key beside them, whatever the model', () => {
    const limits = new AccountLimits(plan, undefined, { id: 'key_1', limits: { requests_per_minute: 2 } });
    for (const model of [undefined, 'a/small', 'a/large'])
      expect(limits.of(model).limits).toContainEqual({ name: 'requests_per_minute', max: 2, key: 'key_1' });
  });

  it('are empty without a plan and own limits', () => {
    expect(new AccountLimits(undefined, undefined).of('a/large')).toEqual({
      limits: [],
      beforeBody: [],
      withRequest: [],
      isHard: false,
      countsTokens: false,
      countsMoney: false,
    });
  });

  it('report whether tokens and money have to be estimated', () => {
    const of = (amounts: object) => new AccountLimits(planSchema.parse(amounts), undefined).of(undefined);
    expect(of({ requests_per_minute: 1, concurrent_requests: 1 })).toMatchObject({
      countsTokens: false,
      countsMoney: false,
    });
    expect(of({ tokens_per_day: 1 })).toMatchObject({ countsTokens: true, countsMoney: false });
    expect(of({ usd_per_month: 1 })).toMatchObject({ countsTokens: false, countsMoney: true });
  });
});

describe('the amount of a limit', () => {
  it.each(limitNames)('must be above 0 for %s', name => {
    for (const amount of [0, -1, '0', '-1', 'many', Number.NaN, null])
      expect(planSchema.safeParse({ [name]: amount }).success).toBe(false);
    expect(planSchema.safeParse({ [name]: 1 }).success).toBe(true);
  });

  it.each([
    [5, 5_000_000_000],
    ['5', 5_000_000_000],
    [0.1, 100_000_000],
    ['0.000000001', 1],
    [0.000000001, 1],
    [0.1 + 0.2, undefined],
    ['9007199.254740991', 9_007_199_254_740_991],
    ['9007199.254740992', undefined],
    ['0.0000000001', undefined],
    ['1e3', undefined],
    [1e30, undefined],
    ['5.', undefined],
    ['', undefined],
    [' 5', undefined],
  ])('is exact or rejected for money: %j', (dollars, nano) => {
    const parsed = planSchema.safeParse({ usd_per_month: dollars });
    expect(parsed.success).toBe(nano !== undefined);
    if (parsed.success)
      expect(new AccountLimits(parsed.data, undefined).of(undefined).limits[0]!.max).toBe(nano);
  });
});
