// Written from the stage's schema by `npm run docs`.

/** Options of the stage `validation`. */
export interface ValidationOptions {
  /**
   * Fields outside the interface: not forwarded and named in `x-ignored-parameters`, or refused.
   *
   * @defaultValue `"ignore"`
   */
  unknown_parameters?: 'ignore' | 'reject' | undefined;
  /**
   * `max_tokens` above the model's `max_completion_tokens`: refused, or lowered to it.
   *
   * @defaultValue `"reject"`
   */
  max_tokens_above_cap?: 'reject' | 'clamp' | undefined;
  /**
   * The largest `n`.
   *
   * @defaultValue `8`
   */
  max_choices?: number | undefined;
}
