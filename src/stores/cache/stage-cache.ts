import { hash } from 'node:crypto';
import type { CacheStore } from './cache-store.ts';
import { MemoryCache } from './memory-cache.ts';

/** The largest value, in UTF-8. */
export const max_value_bytes = 1_048_576;
/** Size of a stage's cache in memory: 64 MiB at most, since a character takes one or two bytes. */
export const max_memory_characters = 33_554_432;
export const max_ttl_ms = 30 * 86_400_000;

/** The cache of one stage: in `shared`, with keys that no other stage has, or in this process. Larger values are not stored. */
export function stageCache(stage: string, shared: CacheStore | undefined, now: () => number): CacheStore {
  const store = shared ?? new MemoryCache(max_memory_characters, now);
  // Of one length, whatever the key is made of; and a prompt is not to be read in the name of a key.
  const keyOf = (key: string) => `${stage}:${hash('sha256', key, 'base64url')}`;
  return {
    get: key => store.get(keyOf(key)),
    set(key, value, ttl_ms) {
      if (!(ttl_ms > 0) || Buffer.byteLength(value) > max_value_bytes) return;
      return store.set(keyOf(key), value, Math.ceil(Math.min(ttl_ms, max_ttl_ms)));
    },
  };
}
