// Written from the stage's schema by `npm run docs`.

/** Options of the stage `model-access`. */
export interface ModelAccessOptions {
  /** Models by plan: `{ free: [small], pro: ["*"] }`; `"*"` is every model. */
  plans?: Record<string, string[]> | undefined;
  /** Models by account, in place of those of the account's plan. */
  accounts?: Record<string, string[]> | undefined;
  /**
   * Models of accounts that no list names, and of requests without an account; none by default.
   *
   * @defaultValue `[]`
   */
  others?: string[] | undefined;
  /**
   * In code, in place of the lists: `async account => [...]`. While it fails, or for 5 s does not answer,
   * requests get 502 `server_error`.
   */
  allowed?: ((account: { readonly id: string; readonly plan?: string | undefined } | undefined) => readonly string[] | Promise<readonly string[]>) | undefined;
  /**
   * Seconds for which its answer is remembered.
   *
   * @defaultValue `60`
   */
  allowed_ttl_s?: number | undefined;
}
