import { describe, expect, it } from '@jest/globals';
import { KeyPool } from '../../../../../../src/gateway/upstream/http/key-pool.ts';

let now_ms = 0;
const clock = { epoch_ms: () => now_ms, elapsed_ms: () => now_ms };
const pool = (...keys: string[]) => new KeyPool(keys, value => ({ authorization: `Bearer ${value}` }), clock);
const turns = (keys: KeyPool, count: number) => Array.from({ length: count }, () => keys.next()?.value);

describe('the keys of a provider', () => {
  it('are used in turn', () => {
    expect(turns(pool('a', 'b', 'c'), 5)).toEqual(['a', 'b', 'c', 'a', 'b']);
    expect(turns(pool('a', 'a'), 2)).toEqual(['a', 'a']);
    expect(turns(pool(), 1)).toEqual([undefined]);
    expect(pool('a').next()?.headers).toEqual({ authorization: 'Bearer a' });
  });

  it.each([
    [401, undefined, 60_000],
    [403, 5, 60_000],
    [429, undefined, 10_000],
    [429, 0, 1000],
    [429, 7, 7000],
    [429, 86_400, 300_000],
  ])('pause after %i with Retry-After %p for %i ms', (status, retry_after_s, rest_ms) => {
    const keys = pool('a', 'b');
    const [a] = [keys.next()];
    expect(keys.answered(a, status, retry_after_s)).toBe(true);
    expect(turns(keys, 3)).toEqual(['b', 'b', 'b']);
    now_ms += rest_ms - 1;
    expect(turns(keys, 2)).toEqual(['b', 'b']);
    now_ms += 1;
    expect(new Set(turns(keys, 2))).toEqual(new Set(['a', 'b']));
  });

  it('do not pause for errors that do not concern them', () => {
    const keys = pool('a', 'b');
    for (const status of [200, 400, 404, 500, 503]) expect(keys.answered(keys.next(), status, 9)).toBe(false);
    expect(keys.hasFresh).toBe(true);
    expect(new Set(turns(keys, 2)).size).toBe(2);
  });

  it('are used even when all are paused, the one with the shortest pause first', () => {
    const keys = pool('a', 'b');
    const [a, b] = [keys.next(), keys.next()];
    keys.answered(a, 429, 30);
    keys.answered(b, 429, 20);
    expect(keys.hasFresh).toBe(false);
    expect(turns(keys, 2)).toEqual(['b', 'b']);
  });

  it('stay paused when they are replaced', () => {
    const keys = pool('a', 'b');
    keys.answered(keys.next(), 401, undefined);
    keys.replace(['a', 'c']);
    expect(turns(keys, 2)).toEqual(['c', 'c']);
    expect(keys.answered({ value: 'b', headers: {} }, 401, undefined)).toBe(true);
    expect(keys.values).toEqual(['a', 'c']);
  });
});
