import { describe, expect, it } from '@jest/globals';
import { PageTurns } from '../../../../plugins/dashboard/page-turns.ts';

describe('pages that are asked for at the same time', () => {
  it('are made four at a time for each caller, in turn, and refused when too many wait', async () => {
    const turns = new PageTurns();
    const made: string[] = [];
    const ends: (() => void)[] = [];
    const ask = (caller: string) =>
      turns.make(caller, () => {
        made.push(caller);
        return new Promise<void>(resolve => ends.push(resolve));
      });
    const asked = Array.from({ length: 64 }, () => ask('carla'));
    expect(made).toHaveLength(4);
    await expect(ask('carla')).rejects.toMatchObject({ status: 429 });
    const other = ask('mallory');
    expect(made.at(-1)).toBe('mallory');
    while (made.length < 65 || ends.length > 0) {
      ends.shift()?.();
      await new Promise(resolve => setImmediate(resolve));
    }
    await Promise.all([...asked, other]);
    expect(made.filter(caller => caller === 'carla')).toHaveLength(64);
    // Nobody is remembered, and a page that fails frees its place.
    for (let tries = 0; tries < 5; tries++)
      await expect(turns.make('carla', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  });
});
