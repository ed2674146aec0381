// Written from the stage's schema by `npm run docs`.

/** Options of the stage `response-cache`. */
export interface ResponseCacheOptions {
  /**
   * Seconds for which a reply is used.
   *
   * @defaultValue `3600`
   */
  ttl_s?: number | undefined;
  /**
   * Give replies to all accounts, not only to the one that asked.
   *
   * @defaultValue `false`
   */
  shared?: boolean | undefined;
  /**
   * Only cache with `temperature: 0` or a `seed`.
   *
   * @defaultValue `false`
   */
  deterministic_only?: boolean | undefined;
  /**
   * Bill a cached reply like the first; otherwise as nothing.
   *
   * @defaultValue `false`
   */
  bill_hits?: boolean | undefined;
  /**
   * The largest reply to cache.
   *
   * @defaultValue `262144`
   */
  max_characters?: number | undefined;
}
