/**
 * Texts by key, each for a time. Only a cache: an entry may be gone at any time, and while the store behind it is out or slow there is
 * none. Its methods neither throw nor reject, and answer within the store's time-out.
 */
export interface CacheStore {
  /** The text that was set; undefined after its time, and if it was dropped. */
  get(key: string): string | undefined | Promise<string | undefined>;
  /** Replaces what the key had. */
  set(key: string, value: string, ttl_ms: number): void | Promise<void>;
}
