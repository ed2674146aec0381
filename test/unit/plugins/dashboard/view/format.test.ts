import { describe, expect, it } from '@jest/globals';
import { decimalsOf, dollarText, durationOf } from '../../../../../plugins/dashboard/view/format.ts';

describe('a duration', () => {
  it.each([
    [1, '1 s'],
    [90_000, '90 s'],
    [119_000, '119 s'],
    [120_000, '2 min'],
    [7_199_000, '120 min'],
    [7_200_000, '2 h'],
    [172_799_000, '48 h'],
    [172_800_000, '2 days'],
  ])('of %d ms is shown in the largest unit of which it has two', (ms, text) => {
    expect(durationOf(ms)).toBe(text);
  });
});

describe('an amount of dollars', () => {
  it.each([
    [0, '$0.00'],
    [12.34, '$12.34'],
    [1234.5, '$1\u202f234.50'],
    [0.99999, '$1.0000'],
    [-0.5, '−$0.50'],
    [0.5, '$0.50'],
    [0.12345, '$0.1235'],
    [0.0042, '$0.0042'],
    [0.0000425, '$0.000043'],
    [1e-12, '$0.000000000001'],
  ])('of %d is shown with the decimals that matter', (usd, text) => {
    expect(dollarText(usd)).toBe(text);
  });

  it.each([
    [
      ['1234.5', '0.0042', '0'],
      ['$1\u202f234.5000', '$0.0042', '$0.0000'],
    ],
    [
      ['12.3456', '1'],
      ['$12.35', '$1.00'],
    ],
    [
      ['0.000000000001', '0.5'],
      ['$0.000000000001', '$0.500000000000'],
    ],
    [
      ['99999999999.999', '0.25'],
      ['$99\u202f999\u202f999\u202f999.999', '$0.250'],
    ],
    [
      ['-0.000425', '0.1'],
      ['−$0.00043', '$0.10000'],
    ],
    [[], []],
  ])('among %j has as many decimals as the others, rounded from the exact sum', (amounts, texts) => {
    const decimals = decimalsOf(amounts);
    expect(amounts.map(usd => dollarText(usd, decimals))).toEqual(texts);
  });
});
