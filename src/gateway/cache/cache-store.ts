/**
 * Texts by key, each for a time. Only a cache: an entry may be gone at any time, and while the store behind it is down or slow there is
 * none. Its methods never reject, and answer within the store's time-out.
 */
export interface CacheStore {
  /** The text that was set; undefined after its time, and if it was dropped. */
  get(key: string): string | undefined | Promise<string | undefined>;
  /**
   * Replaces what the key had. What a stage sets for 0 ms, or what has more than 1 MiB, is not stored, and the old value goes. Throws a
   * TypeError at once if a stage's `ttl_ms` is missing, negative or NaN, or its key or value is no text.
   */
  set(key: string, value: string, ttl_ms: number): void | Promise<void>;
}
