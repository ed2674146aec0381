import { describe, expect, it } from '@jest/globals';
import { LoginThrottle } from '../../../../src/records/login-throttle.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

function failing(times: number, name = 'olga', address = '192.0.2.1', browser?: string) {
  const clock = new FakeClock();
  const throttle = new LoginThrottle(clock);
  for (let failures = 0; failures < times; failures++) throttle.failed({ name, address, browser });
  return { clock, throttle };
}

describe('the login throttle', () => {
  it.each([
    [4, 0],
    [5, 1000],
    [6, 2000],
    [8, 8000],
  ])('makes the attempt after %d failures in a row wait %d ms', (failures, wait_ms) => {
    expect(failing(failures).throttle.wait_ms({ name: 'olga', address: '192.0.2.1' })).toBe(wait_ms);
  });

  it('blocks a name at one address for half a minute while few names were tried, and an address for a quarter of an hour', () => {
    expect(failing(9).throttle.wait_ms({ name: 'olga', address: '192.0.2.1' })).toBe(16_000);
    const { throttle } = failing(40);
    expect(throttle.wait_ms({ name: 'other', address: '192.0.2.1' })).toBe(900_000);
  });

  it('blocks no other address, with the same name or another', () => {
    const { throttle } = failing(40);
    expect(throttle.wait_ms({ name: 'olga', address: '192.0.2.2' })).toBe(0);
    expect(throttle.wait_ms({ name: 'other', address: '192.0.2.2' })).toBe(0);
  });

  it('keeps known browsers apart from unknown ones in both directions', () => {
    const { throttle } = failing(40);
    expect(throttle.wait_ms({ name: 'olga', address: '192.0.2.1', browser: 'known' })).toBe(0);
    const own = failing(40, 'olga', '192.0.2.1', 'known').throttle;
    expect(own.wait_ms({ name: 'olga', address: '192.0.2.1', browser: 'known' })).toBe(30_000);
    expect(own.wait_ms({ name: 'olga', address: '192.0.2.1' })).toBe(0);
  });

  it.each([
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2:ffff::1', 900_000],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:3::1', 0],
    ['2001:db8::1', '2001:db8::ffff:2', 900_000],
    ['2001:db8::1', '2001:db8:0:1::1', 0],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2', 0],
    ['::ffff:192.0.2.1', '192.0.2.1', 900_000],
    ['192.0.2.1:1001', '192.0.2.1:1002', 900_000],
    ['[2001:db8::1]:1001', '2001:db8::2', 900_000],
  ])(
    'makes, after failures at %s, %s wait %d ms: an IPv6 network is one address, ports are ignored',
    (failed, tried, wait_ms) => {
      expect(failing(40, 'olga', failed).throttle.wait_ms({ name: 'other', address: tried })).toBe(wait_ms);
    },
  );

  it('forgets the failures of a name after its success, in any case of the name', () => {
    const attempt = { name: 'olga', address: '192.0.2.1' };
    const { throttle } = failing(9, 'Olga');
    throttle.failed(attempt);
    expect(throttle.wait_ms(attempt)).toBe(30_000);
    throttle.succeeded(attempt);
    expect(throttle.wait_ms(attempt)).toBe(0);
  });

  it('keeps the failures of an address, and how long it waits, when a name there succeeds', () => {
    const { clock, throttle } = failing(12);
    const [guess, own] = ['victim', 'attacker'].map(name => ({ name, address: '192.0.2.1' }));
    clock.advance(3000);
    throttle.failed(own!);
    throttle.succeeded(own!);
    expect(throttle.wait_ms(guess!)).toBe(1000);
  });

  it('forgets failures after an hour', () => {
    const later = failing(40);
    later.clock.advance(3_600_000);
    later.throttle.failed({ name: 'olga', address: '192.0.2.1' });
    expect(later.throttle.wait_ms({ name: 'olga', address: '192.0.2.1' })).toBe(0);
  });

  it('keeps an address that goes on failing while thousands of other addresses fail', () => {
    const { throttle } = failing(40);
    for (let at = 0; at < 50_000; at++) {
      throttle.failed({ name: 'olga', address: `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}` });
      if (at % 5000 === 0) throttle.failed({ name: 'olga', address: '192.0.2.1' });
    }
    expect(throttle.wait_ms({ name: 'other', address: '192.0.2.1' })).toBe(900_000);
    expect(throttle.wait_ms({ name: 'olga', address: '10.0.0.1' })).toBe(0);
  });

  it('takes back failures that were counted in advance and never happened', () => {
    const attempt = { name: 'olga', address: '192.0.2.1' };
    const { throttle } = failing(5);
    throttle.failed(attempt);
    throttle.undone(attempt);
    expect(throttle.wait_ms(attempt)).toBe(1000);
  });
});
