import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { CalendarPeriods, never_ms } from '../../../../src/common/calendar-periods.ts';
import { timeZoneName } from '../../../../src/common/time-zone.ts';

const day_ms = 86_400_000;
const zone = fc.constantFrom('UTC', ...Intl.supportedValuesOf('timeZone'));
const time = fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2040, 0) });

/** The day that clocks of a zone show, by Intl. */
function shownDay(time_zone: string, epoch_ms: number): string {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone: time_zone, dateStyle: 'short' });
  return format.format(epoch_ms);
}
const weekday = (day: string): number => new Date(day).getUTCDay() || 7;

/** Whether clocks show a day of the period before at a time, and no such day a moment later. */
const begins = (time_zone: string, start_ms: number, isFirst: (day: string) => boolean): boolean =>
  isFirst(shownDay(time_zone, start_ms)) && shownDay(time_zone, start_ms - 1) < shownDay(time_zone, start_ms);

describe('the periods of a time zone', () => {
  it.each(['day', 'week', 'month', 'total'] as const)('have every time in one %s, without gaps', unit => {
    const property = fc.property(zone, time, fc.integer({ min: 1, max: 7 }), (of, at_ms, start_day) => {
      const periods = new CalendarPeriods(unit, of, start_day);
      const { start_ms, end_ms } = periods.around(at_ms);
      expect(start_ms <= at_ms && at_ms < end_ms).toBe(true);
      if (unit === 'total') return;
      expect(new CalendarPeriods(unit, of, start_day).around(end_ms).start_ms).toBe(end_ms);
      expect(new CalendarPeriods(unit, of, start_day).around(start_ms - 1).end_ms).toBe(start_ms);
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('begin when clocks show another day, which is the first of the week or month', () => {
    const property = fc.property(zone, time, fc.integer({ min: 1, max: 7 }), (of, at_ms, start_day) => {
      const startOf = (unit: 'day' | 'week' | 'month') =>
        new CalendarPeriods(unit, of, start_day).around(at_ms).start_ms;
      expect(begins(of, startOf('day'), () => true)).toBe(true);
      // A zone may have left out a day.
      if (of === 'Pacific/Apia' || of === 'Pacific/Fakaofo') return;
      expect(begins(of, startOf('week'), day => weekday(day) === start_day)).toBe(true);
      expect(begins(of, startOf('month'), day => Number(day.slice(8)) === start_day)).toBe(true);
    });
    fc.assert(property, { numRuns: 300 });
  });

  it.each([
    ['of 23 hours where clocks go forward', 'Europe/Berlin', '2026-03-29T12:00Z', '2026-03-28T23:00Z', 23],
    ['of 25 hours where they go back', 'Europe/Berlin', '2026-10-25T12:00Z', '2026-10-24T22:00Z', 25],
    [
      'that begins at 01:00, without a midnight',
      'Africa/Cairo',
      '2026-04-24T12:00Z',
      '2026-04-23T22:00Z',
      23,
    ],
    ['that has two midnights', 'America/Havana', '2026-11-01T12:00Z', '2026-11-01T04:00Z', 25],
    ['of a zone at half an hour', 'Asia/Kolkata', '2026-11-20T18:00Z', '2026-11-19T18:30Z', 24],
    ['before one that was left out', 'Pacific/Apia', '2011-12-30T09:00Z', '2011-12-29T10:00Z', 24],
    ['after one that was left out', 'Pacific/Apia', '2011-12-30T11:00Z', '2011-12-30T10:00Z', 24],
  ])('may be days %s', (_, of, at, start, hours) => {
    const { start_ms, end_ms } = new CalendarPeriods('day', of).around(Date.parse(at));
    expect(new Date(start_ms)).toEqual(new Date(start));
    expect((end_ms - start_ms) / 3_600_000).toBe(hours);
  });

  it('are months from a day on, and weeks from Monday on unless another day is named', () => {
    const around = (unit: 'week' | 'month', at: string, start_day?: number) => {
      const { start_ms, end_ms } = new CalendarPeriods(unit, 'UTC', start_day).around(Date.parse(at));
      return [start_ms, end_ms].map(time_ms => new Date(time_ms).toISOString().slice(0, 10));
    };
    expect(around('month', '2027-01-14', 15)).toEqual(['2026-12-15', '2027-01-15']);
    expect(around('month', '2027-01-15', 15)).toEqual(['2027-01-15', '2027-02-15']);
    expect(around('month', '2027-02-15')).toEqual(['2027-02-01', '2027-03-01']);
    expect(around('week', '2026-11-27')).toEqual(['2026-11-23', '2026-11-30']);
    expect(around('week', '2026-11-27', 6)).toEqual(['2026-11-21', '2026-11-28']);
  });

  it('are one that never ends', () => {
    expect(new CalendarPeriods('total').around(day_ms)).toEqual({ start_ms: 0, end_ms: never_ms });
  });
});

it('names zones as the database does, and none that it has not', () => {
  expect(['europe/berlin', 'etc/utc', 'Asia/Kolkata', 'Mars/Olympus', ''].map(timeZoneName)).toEqual([
    'Europe/Berlin',
    'UTC',
    'Asia/Kolkata',
    undefined,
    undefined,
  ]);
});
