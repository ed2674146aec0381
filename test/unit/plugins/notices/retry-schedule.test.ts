import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { retryDelay_ms } from '../../../../plugins/notices/retry-schedule.ts';

const hour_ms = 3_600_000;

it('waits twice as long each time, half of it at random, for an hour at most, and ends at the age that is stated', () => {
  const schedule = { retry_ms: 5000, retry_for_ms: 24 * hour_ms };
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2000 }),
      fc.integer({ min: 0, max: 25 * hour_ms }),
      fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      (attempts, age_ms, random) => {
        const delay_ms = retryDelay_ms(schedule, attempts, age_ms, random);
        const whole_ms = Math.min(5000 * 2 ** (attempts - 1), hour_ms);
        if (delay_ms === undefined) return expect(age_ms + whole_ms).toBeGreaterThan(24 * hour_ms);
        expect(delay_ms).toBeGreaterThanOrEqual(whole_ms / 2);
        expect(delay_ms).toBeLessThanOrEqual(whole_ms);
        expect(age_ms + delay_ms).toBeLessThanOrEqual(24 * hour_ms);
      },
    ),
  );
  expect(retryDelay_ms(schedule, 1, 0, 0)).toBe(2500);
});
