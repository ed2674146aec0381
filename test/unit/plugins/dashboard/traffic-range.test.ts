import { describe, expect, it } from '@jest/globals';
import { pointLabel, rangeAt } from '../../../../plugins/dashboard/traffic-range.ts';

const now_ms = Date.parse('2026-11-20T12:05:30Z');

describe('a point of the overview', () => {
  it.each([
    ['quarter', '11:51', '12:06'],
    ['hour', '11:06', '12:06'],
    ['six-hours', '06:10', '12:10'],
    ['day', '12:30', '12:30'],
    ['week', '11-13 15:00', '11-20 15:00'],
    ['month', '10-22 00:00', '11-21 00:00'],
  ] as const)(
    'of the range %s is named by its time, and with the day where there are several',
    (since, from, until) => {
      const range = rangeAt(since, now_ms);
      expect([pointLabel(range.from_ms, range), pointLabel(range.until_ms, range)]).toEqual([from, until]);
    },
  );
});
