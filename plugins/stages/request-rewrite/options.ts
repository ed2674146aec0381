// Written from the stage's schema by `npm run docs`.

/** Options of the stage `request-rewrite`. */
export interface RequestRewriteOptions {
  /** Sampling parameters to send where the client gave none, such as `{ top_p: 0.95 }`. */
  set?: Record<string, unknown> | undefined;
  /**
   * Send `metadata` to the upstream; it stays here otherwise.
   *
   * @defaultValue `false`
   */
  forward_metadata?: boolean | undefined;
}
