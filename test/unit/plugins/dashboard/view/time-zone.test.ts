import { describe, expect, it } from '@jest/globals';
import { minuteOf, timeOf } from '../../../../../plugins/dashboard/view/format.ts';
import {
  epochOf,
  inReadersZone,
  zoneName,
  zoneNamed,
} from '../../../../../plugins/dashboard/view/time-zone.ts';

/** Makes something for a reader whose browser sends this zone. */
const as = <T>(zone: string, make: () => T): T =>
  inReadersZone({ headers: { cookie: `sluice_time_zone=${encodeURIComponent(zone)}` } } as never, make);
const berlin = 'Europe/Berlin';

describe("times in the reader's zone", () => {
  it.each([
    [berlin, '2026-07-01T12:00:07Z', '2026-07-01 14:00'],
    [berlin, '2026-11-20T23:30:00.999Z', '2026-11-21 00:30'],
    ['Australia/Adelaide', '2026-11-20T12:00:00Z', '2026-11-20 22:30'],
    ['America/St_Johns', '2026-11-20T01:00:00Z', '2026-11-19 21:30'],
    ['UTC', '2026-11-20T12:00:00Z', '2026-11-20 12:00'],
  ])('are shown as clocks in %s show %s, and read back', (zone, iso, shown) => {
    as(zone, () => {
      expect([zoneName(), minuteOf(Date.parse(iso))]).toEqual([zone, shown]);
      expect(timeOf(Date.parse(iso)).text).toContain(`datetime="${new Date(iso).toISOString()}"`);
      expect(minuteOf(epochOf(shown.replace(' ', 'T')))).toBe(shown);
    });
  });

  it.each(['', 'Mars/Olympus', '"><script>', 'x'.repeat(5000), '__proto__'])(
    'are in UTC for %p, which is no zone',
    zone => {
      expect([as(zone, zoneName), zoneNamed(zone)]).toEqual(['UTC', undefined]);
      expect(as(zone, () => minuteOf(0))).toBe('1970-01-01 00:00');
    },
  );

  it.each([
    ['where clocks are set back, as the first of two', '2026-10-25T02:30', '2026-10-25T00:30:00.000Z'],
    ['before that', '2026-10-25T01:30', '2026-10-24T23:30:00.000Z'],
    ['where clocks are set forward, as late as before', '2026-03-29T02:30', '2026-03-29T01:30:00.000Z'],
    ['after that', '2026-03-29T03:30', '2026-03-29T01:30:00.000Z'],
  ])('are read %s', (_, text, iso) => {
    expect(new Date(as(berlin, () => epochOf(text))).toISOString()).toBe(iso);
  });

  it.each(['2026-02-30T12:00', '2026-11-20', 'tomorrow', ''])('are not read from %p', text => {
    expect(epochOf(text)).toBeNaN();
  });
});
