// Written from the stage's schema by `npm run docs`.

/** Options of the stage `reasoning-split`. */
export interface ReasoningSplitOptions {
  /**
   * Drop whitespace around the tags; `false` keeps every byte between them, as vLLM does.
   *
   * @defaultValue `true`
   */
  trim?: boolean | undefined;
}
