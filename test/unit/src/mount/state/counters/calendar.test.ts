import { describe, expect, it } from '@jest/globals';
import {
  Calendar,
  type CalendarDay,
  calendarDayOf,
} from '../../../../../../src/mount/state/counters/calendar.ts';

const hour_ms = 3_600_000;
const day_ms = 24 * hour_ms;
const midnight_ms = Date.UTC(2026, 11, 1);

/** What counts at a time. */
function shownBy(calendar: Calendar, epoch_ms: number, elapsed_ms: number): CalendarDay {
  calendar.pass(epoch_ms, elapsed_ms);
  const { day, day_ends_ms, month, month_ends_ms } = calendar;
  return { day, day_ends_ms, month, month_ends_ms };
}

describe('the calendar of limits', () => {
  it('gives the day and the month of the clock', () => {
    const calendar = new Calendar();
    for (const at_ms of [midnight_ms - 1, midnight_ms, midnight_ms + day_ms])
      expect(shownBy(calendar, at_ms, at_ms)).toEqual(calendarDayOf(at_ms));
  });

  it('never goes back a day or a month when the clock is set back over midnight', () => {
    const calendar = new Calendar();
    shownBy(calendar, midnight_ms - 1000, 0);
    const { day, month } = shownBy(calendar, midnight_ms, 1000);
    expect(shownBy(calendar, midnight_ms - 10_000, 1001)).toEqual({
      day,
      month,
      day_ends_ms: midnight_ms - 10_000 + day_ms - 1,
      month_ends_ms: midnight_ms - 10_000 + 31 * day_ms - 1,
    });
    expect(shownBy(calendar, midnight_ms + hour_ms, 2 * hour_ms)).toEqual(
      calendarDayOf(midnight_ms + hour_ms),
    );
  });

  it('keeps a day that a wrong clock has begun for a day at most, and its month for 31', () => {
    const calendar = new Calendar();
    const wrong_ms = Date.UTC(2031, 5, 5);
    const wrong = shownBy(calendar, wrong_ms, 0);
    expect(shownBy(calendar, midnight_ms, 1)).toMatchObject({ day: wrong.day, month: wrong.month });
    expect(shownBy(calendar, midnight_ms + day_ms, day_ms)).toMatchObject({
      day: calendarDayOf(midnight_ms + day_ms).day,
      month: wrong.month,
    });
    const later_ms = midnight_ms + 31 * day_ms;
    expect(shownBy(calendar, later_ms, 31 * day_ms)).toEqual(calendarDayOf(later_ms));
  });
});
