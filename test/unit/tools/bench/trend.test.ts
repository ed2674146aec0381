import { describe, expect, it } from '@jest/globals';
import { isFlat, trendOf } from '../../../tools/bench/trend.ts';

const minute_ms = 60_000;
const half_hour_ms = 30 * minute_ms;
/** A value for each minute of half an hour. */
const minutes = (value: (minute: number) => number) =>
  Array.from({ length: 31 }, (_, minute) => ({ at_ms: minute * minute_ms, value: value(minute) }));
/** A collector's saw: up to 8 higher every fifth minute. */
const saw = (minute: number): number => (minute % 5) * 2;

describe('trendOf', () => {
  it('gives the slope of a line in units per hour, without an error', () => {
    const { mean, per_hour, error_per_hour } = trendOf(minutes(minute => 100 + minute));
    expect(mean).toBeCloseTo(115);
    expect(per_hour).toBeCloseTo(60);
    expect(error_per_hour).toBeCloseTo(0);
  });
});

describe('isFlat', () => {
  it('is true of a value that stays, falls, or only goes up and down', () => {
    for (const value of [() => 100, (minute: number) => 100 - minute, (minute: number) => 100 + saw(minute)])
      expect(isFlat(trendOf(minutes(value)), half_hour_ms)).toBe(true);
  });

  it('is true of a rise of less than three per cent of the mean', () => {
    expect(isFlat(trendOf(minutes(minute => 100 + minute * 0.09)), half_hour_ms)).toBe(true);
  });

  it('is false of a steady rise, also when it is hidden in a saw', () => {
    expect(isFlat(trendOf(minutes(minute => 100 + minute * 0.2)), half_hour_ms)).toBe(false);
    expect(isFlat(trendOf(minutes(minute => 100 + minute * 0.4 + saw(minute))), half_hour_ms)).toBe(false);
  });
});
