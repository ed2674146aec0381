// Written from the stage's schema by `npm run docs`.

/** Options of the stage `stream-rechunk`. */
export interface StreamRechunkOptions {
  /**
   * Join pieces of text until they have this many characters; 0 passes them as they come.
   *
   * @defaultValue `0`
   */
  coalesce_characters?: number | undefined;
  /**
   * How long a piece waits for others at most, where pieces are joined. In milliseconds.
   *
   * @defaultValue `50`
   */
  coalesce_ms?: number | undefined;
  /**
   * Cut pieces of text that have more characters than this; 0 leaves them whole.
   *
   * @defaultValue `0`
   */
  split_characters?: number | undefined;
  /**
   * Other sizes for some requests: `{ when: { model, account, plan, continuous_usage }, … }`. The first that
   * matches counts.
   *
   * @defaultValue `[]`
   */
  classes?: ({
    /** All that is given must match. */
    when: {
      /** Catalog ids. */
      model?: string | string[] | undefined;
      /** Account names. */
      account?: string | string[] | undefined;
      /** Plan names. */
      plan?: string | string[] | undefined;
      /** Whether the client asked for running usage. */
      continuous_usage?: boolean | undefined;
    };
    /**
     * Join pieces of text until they have this many characters; 0 passes them as they come.
     *
     * @defaultValue `0`
     */
    coalesce_characters?: number | undefined;
    /**
     * How long a piece waits for others at most, where pieces are joined. In milliseconds.
     *
     * @defaultValue `50`
     */
    coalesce_ms?: number | undefined;
    /**
     * Cut pieces of text that have more characters than this; 0 leaves them whole.
     *
     * @defaultValue `0`
     */
    split_characters?: number | undefined;
  })[] | undefined;
}
