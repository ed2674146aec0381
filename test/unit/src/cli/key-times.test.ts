import { expect, it } from '@jest/globals';
import { expiryOf, overlapOf } from '../../../../src/cli/key-times.ts';

const day_ms = 86_400_000;

it('takes a span, a day or a time that has not passed for the time of a key', () => {
  expect(['0', '30m', '1h', '7d', '2w'].map(overlapOf)).toEqual(
    [0, 1 / 48, 1 / 24, 7, 14].map(days => days * day_ms),
  );
  for (const text of ['', '5', '1.5h', '1y', '123456d', 'x1h', '1h x'])
    expect(() => overlapOf(text)).toThrow(`'${text}' is no time`);
  expect(Math.abs(expiryOf('--expires', '2w') - Date.now() - 14 * day_ms)).toBeLessThan(60_000);
  expect(expiryOf('--expires', '2999-01-31')).toBe(Date.UTC(2999, 0, 31));
  expect(expiryOf('--expires', '2999-01-31T18:00+01:00')).toBe(Date.UTC(2999, 0, 31, 17));
  for (const text of ['2999-02-30', '2999-13-01T00:00Z', '2999-01-31T18:00', '2999', '0'])
    expect(() => expiryOf('--expires', text)).toThrow('is no time');
  for (const text of ['0m', '1999-01-31']) expect(() => expiryOf('--expires', text)).toThrow('has passed');
});
