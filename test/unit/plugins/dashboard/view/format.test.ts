import { describe, expect, it } from '@jest/globals';
import { durationOf } from '../../../../../plugins/dashboard/view/format.ts';

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
