// Written from the stage's schema by `npm run docs`.

/** Options of the stage `redact`. */
export interface RedactOptions {
  /**
   * What is masked, each as `[its name]`: `email`, `credit_card`, `iban`, `api_key`, `ipv4`, or `{ name, regex,
   * ignore_case, replacement }`. A regular expression has no lookaround, back references or lazy quantifiers.
   *
   * @defaultValue `["email","credit_card","iban","api_key"]`
   */
  patterns?: ('email' | 'credit_card' | 'iban' | 'api_key' | 'ipv4' | {
    /** What a match is called: it becomes `[name]`. */
    name: string;
    /** A regular expression without lookaround, back references and lazy quantifiers. */
    regex: string;
    /**
     * Match capitals and small letters alike.
     *
     * @defaultValue `false`
     */
    ignore_case?: boolean | undefined;
    /** What a match becomes, in place of `[name]`. */
    replacement?: string | undefined;
  })[] | undefined;
  /**
   * Whether requests are masked before they leave, replies before the client sees them, or both.
   *
   * @defaultValue `"both"`
   */
  where?: 'both' | 'requests' | 'replies' | undefined;
  /**
   * The longest match, in characters, and the most that a stream holds back while one is possible.
   *
   * @defaultValue `1024`
   */
  window?: number | undefined;
}
