import { describe, expect, it } from '@jest/globals';
import { exponentOf, type GrowthTable, growthText, tooSteep } from '../../../tools/bench/growth-table.ts';

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
  it('is 1 of a cost that doubles with the size, where the last step shows it, and 2 of a square', () => {
    const sized = (value: (n: number) => number) => table.sizes.map(n => [n, value(n)] as const);
    expect(
      exponentOf(
        sized(n => 3 * n),
        'linear',
      ),
    ).toBeCloseTo(1);
    expect(
      exponentOf(
        sized(n => n * n),
        'linear',
      ),
    ).toBeCloseTo(2);
    expect(
      exponentOf(
        sized(() => 5),
        'constant',
      ),
    ).toBeCloseTo(0);
    expect(
      exponentOf(
        sized(n => 10_000 + n),
        'linear',
      ),
    ).toBeLessThan(0.1);
  });
});

describe('tooSteep', () => {
  it('names what grows faster than it should, and nothing else', () => {
    expect(
      tooSteep(
        table,
        figuresOf(
          n => n + 50,
          () => 7,
        ),
      ),
    ).toEqual([]);
    expect(
      tooSteep(
        table,
        figuresOf(
          n => n * n,
          n => n,
        ),
      ),
    ).toEqual(['Letters: reading µs grows with n^2.00', 'Letters: finding µs grows with n^1.00']);
  });
});

describe('growthText', () => {
  it('has a row for each size and one with the exponents', () => {
    expect(
      growthText(
        table,
        figuresOf(
          n => n,
          () => 7,
        ),
      ).split('\n'),
    ).toEqual([
      '**Letters**',
      '',
      '| letters    | reading µs | finding µs |     MiB |',
      '| ---------- | ---------: | ---------: | ------: |',
      '| 10         |         10 |        7.0 |     100 |',
      '| 100        |        100 |        7.0 |   10000 |',
      '| 1,000      |       1000 |        7.0 | 1000000 |',
      '| grows with |     n^1.00 |     n^0.00 |         |',
    ]);
  });
});
