import { describe, expect, it } from '@jest/globals';
import { nanoUsdOf } from '../../../../src/common/money.ts';

describe('dollars in billionths', () => {
  it.each([
    ['0', 0],
    ['1', 1_000_000_000],
    ['0.000039', 39_000],
    ['0.0000000001', 1],
    ['0.0000000010', 1],
    ['0.00000000100001', 2],
    ['12.3456789019', 12_345_678_902],
    ['1e5', undefined],
    ['-1', undefined],
    ['', undefined],
  ])('are, for %j, %j, rounded up', (dollars, nano) => {
    expect(nanoUsdOf(dollars)).toBe(nano);
  });
});
