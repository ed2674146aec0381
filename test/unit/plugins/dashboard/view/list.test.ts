import { describe, expect, it } from '@jest/globals';
import { recordList, sortingOf } from '../../../../../plugins/dashboard/view/list.ts';
import { type Column, names, numbers } from '../../../../../plugins/dashboard/view/table.ts';
import { tableRows, unescaped } from '../../../../support/dashboard-visitor.ts';

interface Pet {
  readonly name: string;
  readonly legs: number | null;
}
const columns: readonly Column<Pet>[] = [
  names('Name', ({ name }) => name),
  numbers('Legs', ({ legs }) => legs, { key: 'legs', by: ({ legs }) => legs }),
  { title: 'Age', key: 'age', cell: () => 'old', orders: ['desc'] },
  { title: 'Owner', key: 'owner', cell: () => '<me>', isExtra: true },
];
const rows = [
  { name: 'dog', legs: 4 },
  { name: 'snail', legs: 1 },
  { name: 'ghost', legs: null },
];

const shown = (address: string, more: object = {}) =>
  recordList({ path: 'pets', query: new URLSearchParams(address) }, { label: 'Pets', columns, rows, ...more })
    .text;
const titles = (text: string) =>
  [...text.matchAll(/<th [^>]*>(.*?)<\/th>/g)].map(([, title]) => title!.replaceAll(/<[^>]*>/g, ''));
const links = (text: string) =>
  [...text.matchAll(/<th [^>]*><a href="([^"]*)"/g)].map(([, href]) => unescaped(href!));
const order = (text: string) => tableRows(text).map(([name]) => name);

describe('a list', () => {
  it('is sorted by the column that the address names, in both orders, with what is unknown at the end', () => {
    expect(order(shown(''))).toEqual(['dog', 'snail', 'ghost']);
    expect(order(shown('sort=legs&order=asc'))).toEqual(['snail', 'dog', 'ghost']);
    expect(order(shown('sort=legs'))).toEqual(['dog', 'snail', 'ghost']);
    expect(order(shown('sort=nothing&order=asc'))).toEqual(['dog', 'snail', 'ghost']);
  });

  it('leads from each title to the other order, to the first page, and keeps what else is asked for', () => {
    const text = shown('sort=legs&order=desc&search=a&after=7');
    expect(links(text)).toEqual(['pets?sort=legs&order=asc&search=a', 'pets?sort=age&order=desc&search=a']);
    expect(text.match(/aria-sort="\w+"/g)).toEqual(['aria-sort="descending"']);
    // Its store knows no other order.
    expect(sortingOf(new URLSearchParams('sort=age&order=asc'), columns)).toEqual({
      key: 'age',
      order: 'desc',
    });
  });

  it('shows the columns that were chosen, and those that have no name', () => {
    expect(titles(shown(''))).toEqual(['Name', 'Legs', 'Age']);
    expect(titles(shown('columns=owner&columns=age'))).toEqual(['Name', 'Age', 'Owner']);
    expect(titles(shown('columns=owner,legs'))).toEqual(['Name', 'Legs', 'Owner']);
    expect(titles(shown('columns=none-such'))).toEqual(['Name', 'Legs', 'Age']);
    expect(links(shown('columns=owner&columns=age'))).toEqual([
      'pets?columns=owner%2Cage&sort=age&order=desc',
    ]);
    expect(shown('columns=owner').match(/value="\w+" checked/g)).toEqual(['value="owner" checked']);
    expect(shown('search=%22%3Ca')).toContain('name="search" value="&quot;&lt;a"');
  });

  it('names its rows where they are kept up to date, and links to its file', () => {
    const text = shown('', { keyOf: ({ name }: Pet) => name, csv: 'pets-csv' });
    expect(text.match(/data-key="\w+"/g)).toEqual(
      ['dog', 'snail', 'ghost'].map(name => `data-key="${name}"`),
    );
    expect(text).toContain('<a href="pets-csv" download>');
  });
});
