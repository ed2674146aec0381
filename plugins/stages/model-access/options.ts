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
}
