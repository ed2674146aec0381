import { describe, expect, it } from '@jest/globals';
import { Command } from 'commander';
import { firstRows, shownRows, shownTime, withList } from '../../../../src/cli/output-table.ts';

describe('rows of a command', () => {
  const columns = [
    { title: 'n', value: (row: number) => row, isNumber: true },
    { title: 'name', value: (row: number) => 'x'.repeat(row) },
  ];

  it('are padded columns, or JSON with numbers', () => {
    expect(shownRows([1, 10], columns, { format: 'table' })).toBe(` n  name\n 1  x\n10  xxxxxxxxxx`);
    expect(JSON.parse(shownRows([1], columns, { format: 'json' }))).toEqual([{ n: 1, name: 'x' }]);
    expect([shownTime(null), shownTime(0)]).toEqual(['', '1970-01-01 00:00']);
  });

  it.each([
    [0, 5, false],
    [5, 5, false],
    [5, 6, true],
    [1000, 1001, true],
    [2500, 2500, false],
    [2500, 2501, true],
  ])('are %d at most of %d, and it is known whether there are more', async (limit, count, hasMore) => {
    const most = limit || 100;
    const all = Array.from({ length: count }, (_, at) => ({ id: String(at) }));
    let asked = 0;
    const found = await firstRows(most, async ({ limit: size, after }) => {
      asked += size;
      const from = after === undefined ? 0 : Number(after) + 1;
      return all.slice(from, from + size);
    });
    expect(found).toEqual({ rows: all.slice(0, most), hasMore });
    expect(asked).toBeLessThanOrEqual(most + 1);
  });

  it('are as many as is asked for, in a form that is known', () => {
    const parse = (...args: string[]) =>
      withList(new Command().exitOverride()).parse(args, { from: 'user' }).opts();
    expect(parse()).toEqual({ format: 'table', limit: 100 });
    expect(parse('--csv', '--limit', '7')).toEqual({ csv: true, format: 'csv', limit: 7 });
    for (const text of ['0', '-1', '1.5', '1234567890', 'x'])
      expect(() => parse(`--limit=${text}`)).toThrow(/must be a number above 0/);
    expect(() => parse('--format', 'xml')).toThrow(/--format/);
  });
});
