import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryCache } from '../../../../../src/common/memory-cache.ts';
import type { CacheStore } from '../../../../../src/gateway/cache/cache-store.ts';
import { max_ttl_ms, max_value_bytes, stageCache } from '../../../../../src/mount/chain/stage-cache.ts';
import type { Log } from '../../../../../src/telemetry/log.ts';
import { costGrowth, most_growth } from '../../../../support/cost-growth.ts';

/** A shared store that shows what it was given. */
function sharedStore() {
  const entries = new Map<string, { value: string; ttl_ms: number }>();
  const store: CacheStore = {
    get: key => entries.get(key)?.value,
    set: (key, value, ttl_ms) => void entries.set(key, { value, ttl_ms }),
  };
  return { entries, store };
}

describe("a stage's cache", () => {
  it('finds a value until its TTL has passed', () => {
    let now_ms = 0;
    const cache = stageCache('mine', undefined, () => now_ms);
    cache.set('key', 'value', 1000);
    now_ms = 1000;
    expect(cache.get('key')).toBe('value');
    cache.set('long', 'value', 60_000);
    cache.get('key');
    now_ms = 1001;
    // Also behind one that is kept for longer.
    expect([cache.get('key'), cache.get('long')]).toEqual([undefined, 'value']);
  });

  it('has keys that no other stage has, all of one length', () => {
    const { entries, store } = sharedStore();
    const [mine, other] = ['mine', 'other'].map(name => stageCache(name, store, () => 0)) as [
      CacheStore,
      CacheStore,
    ];
    mine.set('key', 'value', 1000);
    expect(other.get('key')).toBeUndefined();
    expect(mine.get('key')).toBe('value');
    mine.set('x'.repeat(1_000_000), 'value', 1000);
    const [first, second] = [...entries.keys()];
    expect(first).toMatch(/^mine:[\w-]{43}$/);
    expect(second).toHaveLength(first!.length);
  });

  it.each([-1, Number.NaN, undefined, '5'])('throws at a TTL of %s', ttl_ms => {
    const { entries, store } = sharedStore();
    const cache = stageCache('mine', store, () => 0);
    expect(() => cache.set('key', 'value', ttl_ms as number)).toThrow(
      `cache.set: ttl_ms must be a number of milliseconds, 0 or more, not ${ttl_ms}`,
    );
    expect(() => cache.set('key', { a: 1 } as never, 1)).toThrow(
      'key and value must be text, not string and object',
    );
    expect(entries.size).toBe(0);
  });

  it('rounds a TTL up and bounds it', () => {
    const { entries, store } = sharedStore();
    const cache = stageCache('mine', store, () => 0);
    cache.set('short', 'value', 0.5);
    cache.set('long', 'value', Number.POSITIVE_INFINITY);
    expect([...entries.values()].map(({ ttl_ms }) => ttl_ms)).toEqual([1, max_ttl_ms]);
  });

  it('stores no value of more bytes than 1 MiB', () => {
    const { store } = sharedStore();
    const cache = stageCache('mine', store, () => 0);
    cache.set('fits', 'x'.repeat(max_value_bytes), 1000);
    cache.set('too large', `${'x'.repeat(max_value_bytes - 1)}é`, 1000);
    expect(cache.get('fits')).toHaveLength(max_value_bytes);
    expect(cache.get('too large')).toBeUndefined();
  });

  it.each(['shared', 'of this process'])(
    'forgets the old value of a key whose new one is too large: %s',
    async kind => {
      const store: CacheStore = {
        get: async key => memory.get(key),
        set: (...entry) => memory.set(...entry),
      };
      const memory = new MemoryCache(10_000, () => 0);
      const logged: unknown[] = [];
      const log = { warn: (...line: unknown[]) => void logged.push(line) } as unknown as Log;
      const cache = stageCache('mine', kind === 'shared' ? store : undefined, () => 0, log);
      cache.set('key', 'value', 1000);
      expect(await cache.get('key')).toBe('value');
      for (let time = 0; time < 2; time++) cache.set('key', 'x'.repeat(max_value_bytes + 1), 1000);
      expect(await cache.get('key')).toBeUndefined();
      expect(logged).toEqual([
        [
          { bytes: max_value_bytes + 1, max_value_bytes },
          'a value is too large for the cache; others are not logged',
        ],
      ]);
    },
  );
});

describe('the cache in memory', () => {
  const filled = (max: number) => {
    const cache = new MemoryCache(max, () => 0);
    for (const key of ['a', 'b', 'c']) cache.set(key, 'x'.repeat(100), 1000);
    return cache;
  };

  it('forgets the least recently used where it is full', () => {
    const cache = filled(600);
    cache.get('a');
    cache.set('d', 'x'.repeat(100), 1000);
    expect(['a', 'b', 'c', 'd'].map(key => cache.get(key) !== undefined)).toEqual([true, false, true, true]);
    expect(cache.characters).toBe(600);
  });

  it('forgets the old value of a key even where the new one does not fit', () => {
    const cache = filled(600);
    cache.set('a', 'x'.repeat(600), 1000);
    expect(cache.get('a')).toBeUndefined();
    expect(cache.characters).toBe(400);
  });

  it('keeps what a list in the order of use keeps', () => {
    const step = fc.record({
      does: fc.constantFrom('get', 'set', 'delete'),
      key: fc.constantFrom(...'abcdef'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), steps => {
        const cache = new MemoryCache(303, () => 0);
        let used: string[] = [];
        for (const { does, key } of steps) {
          const isKept = used.includes(key);
          if (does === 'get') expect(cache.get(key) !== undefined).toBe(isKept);
          else if (does === 'set') cache.set(key, 'x', 1000);
          else cache.delete(key);
          used = used.filter(other => other !== key);
          if (does === 'set' || (does === 'get' && isKept)) used = [...used, key].slice(-3);
        }
        expect(cache.characters).toBe(101 * used.length);
      }),
    );
  });

  it('costs no more for each value the more it has forgotten', async () => {
    const fillThrice = (size: number) => () => {
      const cache = new MemoryCache(101 * size, () => 0);
      for (let at = 0; at < 3 * size; at++) cache.set(`${at}`, 'x', 1000);
    };
    expect(await costGrowth(fillThrice, 10_000)).toBeLessThanOrEqual(most_growth);
  });
});
