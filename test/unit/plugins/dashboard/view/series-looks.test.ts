import { describe, expect, it } from '@jest/globals';
import { looksOf } from '../../../../../plugins/dashboard/view/series-looks.ts';

const listed = Array.from({ length: 10 }, (_, at) => `vendor/model-${at}`);
const others = Array.from({ length: 7 }, (_, at) => `customer-${at * 31}`);

describe('the looks of series', () => {
  it('are those of the place in a list, whatever else is shown', () => {
    const all = looksOf(listed, listed);
    expect(all.slice(0, 3).map(({ colour }) => colour)).toEqual([1, 2, 3]);
    expect(all[8]).toEqual({ colour: 1, pattern: 'hatched' });
    for (const [at, name] of listed.entries()) {
      expect(looksOf([name], listed)).toEqual([all[at]]);
      expect(looksOf([...others.slice(0, 3), name], listed).at(-1)).toEqual(all[at]);
    }
  });

  it('are the same for a name without a list, in whatever order', () => {
    expect(looksOf(others.toReversed(), [])).toEqual(looksOf(others, []).toReversed());
    expect(looksOf(['customer-31'], [])).toEqual(looksOf(['customer-31'], []));
  });

  it('differ within a chart', () => {
    const names = Array.from({ length: 24 }, (_, at) => `account ${at}`);
    expect(new Set(looksOf(names, []).map(look => JSON.stringify(look))).size).toBe(24);
  });
});
