import { describe, expect, it } from '@jest/globals';
import { exponentOf, type GrowthTable, tooSteep } from '../../../tools/bench/growth-table.ts';

const table = {
  title: 'Letters',
  unit: 'letters',
  sizes: [10, 100, 1000],
  columns: [
    { head: 'reading µs', digits: 0, growth: 'linear' },
    { head: 'finding µs', digits: 1, growth: 'constant' },
    { head: 'MiB', digits: 0 },
  ],
  measure: async () => [],
} as const satisfies GrowthTable;

const figuresOf = (reading: (n: number) => number, finding: (n: number) => number) =>
  table.sizes.map(size => ({ size, values: [reading(size), finding(size), size * size] }));

describe('exponentOf', () => {
  it.each<[string, 'linear' | 'constant', (n: number) => number, number]>([
    ['1 of a cost that grows as the size does', 'linear', n => 3 * n, 1],
    ['2 of a square', 'linear', n => n * n, 2],
    ['0 of a constant', 'constant', () => 5, 0],
    ['0 of what hardly grows', 'linear', n => 10_000 + n, 0],
  ])('is %s', (_, growth, cost, expected) => {
    expect(
      exponentOf(
        table.sizes.map(size => [size, cost(size)] as const),
        growth,
      ),
    ).toBeCloseTo(expected, 1);
  });
});

describe('tooSteep', () => {
  it('names what grows faster than it should, and nothing else', () => {
    const found = (reading: (n: number) => number, finding: (n: number) => number) =>
      tooSteep(table, figuresOf(reading, finding));
    expect(
      found(
        n => n + 50,
        () => 7,
      ),
    ).toEqual([]);
    expect(
      found(
        n => n * n,
        n => n,
      ),
    ).toEqual(['Letters: reading µs grows with n^2.00', 'Letters: finding µs grows with n^1.00']);
  });
});
