import { expect, it } from '@jest/globals';
import { type GrowthTable, growthText, tooSteep } from '../../../tools/bench/growth-table.ts';

const table = {
  title: 'Letters',
  unit: 'letters',
  columns: [
    { head: 'reading µs', digits: 0, growth: 'linear' },
    { head: 'finding µs', digits: 1, growth: 'constant' },
  ],
} as const satisfies GrowthTable;

const figuresOf = (reading: (n: number) => number, finding: (n: number) => number, sizes = [10, 100, 1000]) =>
  sizes.map(size => ({ size, values: [reading(size), finding(size)] }));
const [same, square, flat] = [(n: number) => n, (n: number) => n * n, () => 7];

it.each([
  ['as much as the size and not at all', figuresOf(same, flat), []],
  ['less, where every size costs something', figuresOf(n => 10_000 + n, flat), []],
  ['in proportion where the last step shows it', figuresOf(n => (n < 100 ? 1 : n), flat), []],
  ['with a single size', figuresOf(square, same, [10]), []],
  [
    'with the square, and where it should not',
    figuresOf(square, same),
    ['Letters: reading µs grows with n^2.00', 'Letters: finding µs grows with n^1.00'],
  ],
])('names the columns that grow faster than they should: %s', (_, figures, expected) => {
  expect(tooSteep(table, figures)).toEqual(expected);
});

it('writes a row for each size and one with the exponents', () => {
  expect(growthText(table, figuresOf(same, flat)).split('\n')).toEqual([
    '**Letters**',
    '',
    '| letters    | reading µs | finding µs |',
    '| ---------- | ---------: | ---------: |',
    '| 10         |         10 |        7.0 |',
    '| 100        |        100 |        7.0 |',
    '| 1,000      |       1000 |        7.0 |',
    '| grows with |     n^1.00 |     n^0.00 |',
  ]);
});
