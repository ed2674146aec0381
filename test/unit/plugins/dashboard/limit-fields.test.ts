import { describe, expect, it } from '@jest/globals';
import { keyLimitsFrom, overridesFrom, textOf } from '../../../../plugins/dashboard/view/limit-fields.ts';

const form = (fields: Record<string, string>) => new URLSearchParams(fields);

describe('the fields of limits', () => {
  it('keep how a limit reserves when they are sent as they were shown', () => {
    const limits = {
      requests_per_minute: 5,
      tokens_per_minute: { limit: 20_000, hard: true },
      tokens_per_day: null,
      usd_per_month: { limit: '5.50', hard: false },
    };
    const shown = Object.fromEntries(Object.entries(limits).map(([name, rule]) => [name, textOf(rule)]));
    expect(shown).toMatchObject({ tokens_per_minute: '20000 hard', usd_per_month: '5.50 not hard' });
    expect(overridesFrom(form(shown), {}, true)).toEqual({ limits });
    expect(textOf({ limit: 7 })).toBe('7');
  });

  it('refuse it of what is not estimated, and of an amount that is none', () => {
    const read = keyLimitsFrom(form({ requests_per_minute: '5 hard', usd_per_month: 'five hard' }), {}, true);
    expect([...('faults' in read ? read.faults.keys() : [])]).toEqual([
      'requests_per_minute',
      'usd_per_month',
    ]);
  });
});
