// Written from the stage's schema by `npm run docs`.

import type { PlanOptions } from '../../../src/plugin.ts';

/** Options of the stage `rate-limit`. */
export interface RateLimitOptions {
  /**
   * Count and report, but refuse nothing: limits that would have refused are named in the header
   * `x-ratelimit-dry-run`, the log and the metrics.
   *
   * @defaultValue `false`
   */
  dry_run?: boolean | undefined;
  /**
   * What a completion is expected to use before one of the account with the model has ended, under limits that
   * are not hard.
   *
   * @defaultValue `500`
   */
  initial_completion_tokens?: number | undefined;
  /**
   * Send the IETF draft's `RateLimit-Policy` and `RateLimit` as well.
   *
   * @defaultValue `false`
   */
  ietf_headers?: boolean | undefined;
  /**
   * Limits of accounts with neither a plan nor limits of their own. Requests without an account share one set of
   * them; without this they are not limited.
   */
  limits?: PlanOptions | undefined;
  /** Limits by plan, in place of the gateway's own `plans`; for use of this stage alone. */
  plans?: Record<string, PlanOptions> | undefined;
}
