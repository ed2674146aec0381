import { describe, expect, it } from '@jest/globals';
import { RecentCache } from '../../../../../src/stores/accounts/recent-cache.ts';

describe('a cache of recent entries', () => {
  it('never holds more than its bound, and keeps what is asked for', () => {
    const cache = new RecentCache<number>(10);
    cache.set('kept', 1);
    for (let at = 0; at < 1000; at++) {
      cache.set(`other-${at}`, at);
      expect(cache.get('kept')).toBe(1);
      expect(cache.size).toBeLessThanOrEqual(10);
    }
    expect(cache.get('other-0')).toBeUndefined();
    expect(cache.get('other-999')).toBe(999);
  });

  it('forgets what it is told to, wherever it is', () => {
    const cache = new RecentCache<number>(4);
    for (const at of [1, 2, 3, 4]) cache.set(`${at}`, at);
    cache.delete('1');
    cache.sweep(value => value === 3);
    expect(['1', '2', '3', '4'].map(key => cache.get(key))).toEqual([undefined, 2, undefined, 4]);
  });

  it('has one value for a key', () => {
    const cache = new RecentCache<number>(2);
    cache.set('a', 1);
    cache.set('b', 2);
    cache.set('a', 3);
    cache.delete('a');
    expect(cache.get('a')).toBeUndefined();
  });
});
