import { z } from 'zod';
import { planSchema, plansSchema } from '../../../src/plugin.ts';

export const schema = z.strictObject({
  dry_run: z
    .boolean()
    .default(false)
    .describe(
      'Count and report, but refuse nothing: limits that would have refused are named in the header `x-ratelimit-dry-run`, the log and the metrics.',
    ),
  initial_completion_tokens: z
    .int()
    .positive()
    .default(500)
    .describe(
      'What a completion is expected to use before one of the account with the model has ended, under limits that are not hard.',
    ),
  ietf_headers: z
    .boolean()
    .default(false)
    .describe("Send the IETF draft's `RateLimit-Policy` and `RateLimit` as well."),
  limits: planSchema
    .optional()
    .describe(
      'Limits of accounts with neither a plan nor limits of their own. Requests without an account share one set of them; without this they are not limited.',
    ),
  plans: plansSchema
    .optional()
    .describe("Limits by plan, in place of the gateway's own `plans`; for use of this stage alone."),
});

export type CheckedOptions = z.output<typeof schema>;
