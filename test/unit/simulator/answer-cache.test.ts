import { describe, expect, it } from '@jest/globals';
import { AnswerCache } from '../../../src/simulator/answer-cache.ts';

describe('AnswerCache', () => {
  it('makes each value once while it has room, and forgets the oldest', () => {
    const cache = new AnswerCache<string>(2, 10);
    const made: string[] = [];
    const get = (key: string): string =>
      cache.get(key, () => {
        made.push(key);
        return key.toUpperCase();
      });
    expect(['a', 'b', 'a', 'c', 'b', 'a'].map(get)).toEqual(['A', 'B', 'A', 'C', 'B', 'A']);
    expect(made).toEqual(['a', 'b', 'c', 'a']);
  });

  it('keeps neither long keys nor failures', () => {
    const cache = new AnswerCache<number>(2, 3);
    let calls = 0;
    for (const _ of [1, 2]) cache.get('long key', () => ++calls);
    expect(calls).toBe(2);
    const fail = (): number => {
      throw new Error('no');
    };
    expect(() => cache.get('a', fail)).toThrow('no');
    expect(cache.get('a', () => 7)).toBe(7);
  });
});
