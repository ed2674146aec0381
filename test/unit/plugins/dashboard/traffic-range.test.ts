import { describe, expect, it } from '@jest/globals';
import { pointLabel, rangeAt, timeBefore } from '../../../../plugins/dashboard/traffic-range.ts';

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

it.each([
  ['hour', '10:06', '11:06'],
  ['six-hours', '00:10', '06:06'],
  ['day', '11-18 12:30', '11-19 12:10'],
] as const)('compares the range %s with as much time before as has passed of it', (since, from, until) => {
  const before = timeBefore(rangeAt(since, now_ms), now_ms);
  const label = (at_ms: number) => new Date(at_ms).toISOString().slice(5, 16).replace('T', ' ');
  expect(
    [label(before.from_ms), label(before.until_ms)].map((text, at) => text.slice(-[from, until][at]!.length)),
  ).toEqual([from, until]);
});
