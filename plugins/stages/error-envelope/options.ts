// Written from the stage's schema by `npm run docs`.

/** Options of the stage `error-envelope`. */
export interface ErrorEnvelopeOptions {
  /**
   * Add `param` and `code` to the envelope, as OpenAI does; without it errors have `message` and `type` only.
   *
   * @defaultValue `false`
   */
  openai_fields?: boolean | undefined;
}
