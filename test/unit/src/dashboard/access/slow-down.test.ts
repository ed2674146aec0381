import { describe, expect, it } from '@jest/globals';
import { SlowDown } from '../../../../../src/dashboard/access/slow-down.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

function failing(times: number, name = 'olga', address = '192.0.2.1') {
  const clock = new FakeClock();
  const slowDown = new SlowDown(clock);
  for (let failures = 0; failures < times; failures++) slowDown.failed(name, address);
  return { clock, slowDown };
}

describe('failed sign-ins', () => {
  it.each([
    [4, 0],
    [5, 1000],
    [6, 2000],
    [8, 8000],
  ])('of %d in a row make the next one wait %d ms', (failures, wait_ms) => {
    expect(failing(failures).slowDown.wait_ms('olga', '192.0.2.1')).toBe(wait_ms);
  });

  it('keep a name back for half a minute at most, and an address for a quarter of an hour', () => {
    const { slowDown } = failing(40);
    expect(slowDown.wait_ms('olga', '192.0.2.2')).toBe(30_000);
    expect(slowDown.wait_ms('other', '192.0.2.1')).toBe(900_000);
    expect(slowDown.wait_ms('other', '192.0.2.2')).toBe(0);
  });

  it('are of a whole network where addresses are to be had for nothing', () => {
    const { slowDown } = failing(40, 'olga', '2001:db8:1:2:3:4:5:6');
    expect(slowDown.wait_ms('other', '2001:db8:1:2:ffff::1')).toBe(900_000);
    expect(slowDown.wait_ms('other', '2001:db8:1:3::1')).toBe(0);
    const short = failing(40, 'olga', '2001:db8::1').slowDown;
    expect(short.wait_ms('other', '2001:db8::ffff:2')).toBe(900_000);
    expect(short.wait_ms('other', '2001:db8:0:1::1')).toBe(0);
    expect(failing(40, 'olga', '::ffff:192.0.2.1').slowDown.wait_ms('other', '::ffff:192.0.2.2')).toBe(0);
  });

  it('are forgotten by one that succeeds, and after an hour', () => {
    const { slowDown } = failing(40);
    slowDown.succeeded('olga', '192.0.2.1');
    expect(slowDown.wait_ms('olga', '192.0.2.1')).toBe(0);
    const later = failing(40);
    later.clock.advance(3_600_000);
    later.slowDown.failed('olga', '192.0.2.1');
    expect(later.slowDown.wait_ms('olga', '192.0.2.1')).toBe(0);
  });
});
