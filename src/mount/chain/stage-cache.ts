import { hash } from 'node:crypto';
import { day_ms } from '../../common/durations.ts';
import { MemoryCache } from '../../common/memory-cache.ts';
import type { CacheStore } from '../../gateway/cache/cache-store.ts';
import type { Log } from '../../telemetry/log.ts';

/** The largest value, in UTF-8. */
export const max_value_bytes = 1_048_576;
/** Size of a stage's cache in memory: 64 MiB at most, since a character takes one or two bytes. */
export const max_memory_characters = 33_554_432;
export const max_ttl_ms = 30 * day_ms;

/**
 * The cache of one stage: in `shared`, with keys that no other stage has, or in this process. Larger values are not stored, which is logged
 * once.
 */
export function stageCache(
  stage: string,
  shared: CacheStore | undefined,
  now: () => number,
  log?: Pick<Log, 'warn'>,
): CacheStore {
  const store = shared ?? new MemoryCache(max_memory_characters, now);
  // Of one length, whatever the key is made of; and a prompt is not to be read in the name of a key.
  const keyOf = (key: string) => `${stage}:${hash('sha256', key, 'base64url')}`;
  let isLogged = false;
  const tooLarge = (bytes: number) => {
    if (!isLogged)
      log?.warn({ bytes, max_value_bytes }, 'a value is too large for the cache; others are not logged');
    isLogged = true;
  };
  return {
    get(key) {
      const found = store.get(keyOf(key));
      return found instanceof Promise ? found.then(unlessGone) : unlessGone(found);
    },
    set(key, value, ttl_ms) {
      checkEntry(key, value, ttl_ms);
      const bytes = Buffer.byteLength(value);
      if (ttl_ms > 0 && bytes <= max_value_bytes)
        return store.set(keyOf(key), value, Math.ceil(Math.min(ttl_ms, max_ttl_ms)));
      if (ttl_ms > 0) tooLarge(bytes);
      // The older value is not what the key has any more.
      return store.set(keyOf(key), gone, 1);
    },
  };
}

/** Stands for a moment in place of a value that goes: a store need not be able to delete. */
const gone = '\0gone';

const unlessGone = (text: string | undefined): string | undefined => (text === gone ? undefined : text);

/** Throws a TypeError for what no stage means to store: the mistake would otherwise look like a cache that never hits. */
function checkEntry(key: unknown, value: unknown, ttl_ms: unknown): void {
  if (typeof key !== 'string' || typeof value !== 'string')
    throw new TypeError(`cache.set: key and value must be text, not ${typeof key} and ${typeof value}`);
  if (typeof ttl_ms !== 'number' || !(ttl_ms >= 0))
    throw new TypeError(
      `cache.set: ttl_ms must be a number of milliseconds, 0 or more, not ${String(ttl_ms)}`,
    );
}
