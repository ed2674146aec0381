import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Patch, patchesOf, patchOf, type ShownParts } from '../../../../plugins/dashboard/live-parts.ts';
import { Html } from '../../../../plugins/dashboard/view/html.ts';

/** As `assets/live-stream.js` does it. */
const patched = (before: readonly string[], patch: Patch): string[] =>
  patch.flatMap(one => (typeof one === 'string' ? [one] : before.slice(one[0], one[0] + one[1])));

const row = (at: number, cells: readonly unknown[]) =>
  `<tr><th>${at}</th>${cells.map(cell => `<td class="number">${cell}</td>`).join('')}</tr>\n`;

it('makes any text of any other', () => {
  const pieces = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 12 });
  fc.assert(
    fc.property(pieces, pieces, (before, after) => {
      expect(patched(before, patchOf(before, after))).toEqual(after);
    }),
  );
});

it('sends the cells that have changed, and rows that have moved by where they were', () => {
  const shown: ShownParts = new Map();
  const rows = (from: number, last: number) =>
    new Html(
      Array.from({ length: 60 }, (_, at) => row(from + at, [at === 59 ? last : from + at, 'same'])).join(''),
    );
  patchesOf({ table: rows(0, 1001) }, shown);
  const changed = patchesOf({ table: rows(0, 1002) }, shown)!;
  expect(changed.table!.filter(one => typeof one === 'string')).toEqual(['1002</td>']);
  const moved = JSON.stringify(patchesOf({ table: rows(1, 7) }, shown));
  expect(moved.length).toBeLessThan(300);
});

it('has nothing to send of parts that are as they were, and of those that are left out', () => {
  const shown: ShownParts = new Map();
  expect(patchesOf({ one: new Html('<p>1</p>\n'), two: new Html('2') }, shown)).toEqual({
    one: ['<p>', '1</p>', '\n'],
    two: ['2'],
  });
  expect(patchesOf({ one: new Html('<p>1</p>\n') }, shown)).toBeUndefined();
  expect(patchesOf({ two: new Html('3') }, shown)).toEqual({ two: ['3'] });
});
