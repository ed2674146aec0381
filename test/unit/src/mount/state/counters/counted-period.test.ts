import { describe, expect, it } from '@jest/globals';
import { type Limit, periodsOf } from '../../../../../../src/gateway/limits/limit-table.ts';
import { CountedPeriod } from '../../../../../../src/mount/state/counters/counted-period.ts';

const hour_ms = 3_600_000;
const day_ms = 24 * hour_ms;
const midnight_ms = Date.UTC(2026, 11, 1);
const daily: Limit = { name: 'tokens_per_day', max: 1 };
const monthly: Limit = { name: 'usd_per_month', max: 1 };

/** What counts at a time. */
function shownBy(period: CountedPeriod, epoch_ms: number, elapsed_ms: number) {
  period.pass(epoch_ms, elapsed_ms);
  const { start_ms, end_ms } = period;
  return { start_ms, end_ms };
}

describe.each([
  ['day', daily, day_ms],
  ['month', monthly, 31 * day_ms],
])('the %s that counts', (_, limit, length_ms) => {
  const around = (epoch_ms: number) => periodsOf(limit).around(epoch_ms);

  it('is that of the clock', () => {
    const period = new CountedPeriod(limit);
    for (const at_ms of [midnight_ms - 1, midnight_ms, midnight_ms + day_ms])
      expect(shownBy(period, at_ms, at_ms)).toEqual(around(at_ms));
  });

  it('is never an earlier one when the clock is set back over its beginning', () => {
    const period = new CountedPeriod(limit);
    shownBy(period, midnight_ms - 1000, 0);
    const { start_ms } = shownBy(period, midnight_ms, 1000);
    expect(shownBy(period, midnight_ms - 10_000, 1001)).toEqual({
      start_ms,
      end_ms: midnight_ms - 10_000 + length_ms - 1,
    });
    expect(shownBy(period, midnight_ms + hour_ms, 2 * hour_ms)).toEqual(around(midnight_ms + hour_ms));
  });

  it('is one that a wrong clock has begun for its length at most', () => {
    const period = new CountedPeriod(limit);
    const wrong_ms = Date.UTC(2031, 4, 5);
    const wrong = shownBy(period, wrong_ms, 0);
    expect(shownBy(period, midnight_ms, 1)).toMatchObject({ start_ms: wrong.start_ms });
    const later_ms = midnight_ms + length_ms;
    expect(shownBy(period, later_ms, length_ms)).toEqual(around(later_ms));
  });
});
