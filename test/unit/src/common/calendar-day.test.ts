import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { wholeMonths } from '../../../../src/common/calendar-day.ts';

const day_ms = 86_400_000;
const dayOf = (epoch_ms: number): string => new Date(epoch_ms).toISOString().slice(0, 10);

describe('the months and days of a period', () => {
  it.each([
    ['2026-11-01', '2026-11-30', { months: ['2026-11', '2026-11'], days: [] }],
    ['2026-11-02', '2026-11-30', { days: [['2026-11-02', '2026-11-30']] }],
    ['2026-11-01', '2026-11-29', { days: [['2026-11-01', '2026-11-29']] }],
    ['2024-02-01', '2024-02-29', { months: ['2024-02', '2024-02'], days: [] }],
    ['2023-02-01', '2024-02-28', { months: ['2023-02', '2024-01'], days: [['2024-02-01', '2024-02-28']] }],
    ['2026-10-31', '2026-11-01', { days: [['2026-10-31', '2026-11-01']] }],
    [undefined, undefined, { months: [undefined, undefined], days: [] }],
    ['2026-10-31', undefined, { months: ['2026-11', undefined], days: [['2026-10-31', '2026-10-31']] }],
    [
      '0001-01-02',
      '0001-03-01',
      {
        months: ['0001-02', '0001-02'],
        days: [
          ['0001-01-02', '0001-01-31'],
          ['0001-03-01', '0001-03-01'],
        ],
      },
    ],
    ['9999-12-05', '9999-12-31', { days: [['9999-12-05', '9999-12-31']] }],
    ['9999-11-05', '9999-12-31', { months: ['9999-12', '9999-12'], days: [['9999-11-05', '9999-11-30']] }],
  ])('run from %s to %s', (from, to, expected) => {
    expect(wholeMonths(from, to)).toEqual(expected);
  });

  it('include each day once', () => {
    const first_ms = Date.UTC(2023, 0, 1);
    const number = fc.nat({ max: 900 });
    fc.assert(
      fc.property(number, number, number, (from, more, asked) => {
        const [from_day, to_day] = [
          dayOf(first_ms + from * day_ms),
          dayOf(first_ms + (from + more) * day_ms),
        ];
        const day = dayOf(first_ms + asked * day_ms);
        const { months, days } = wholeMonths(from_day, to_day);
        const isIn = (text: string, [first, last]: readonly (string | undefined)[]) =>
          first! <= text && text <= last!;
        const times =
          days.filter(range => isIn(day, range)).length + (months && isIn(day.slice(0, 7), months) ? 1 : 0);
        expect(times).toBe(isIn(day, [from_day, to_day]) ? 1 : 0);
      }),
    );
  });
});
