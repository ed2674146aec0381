import { z } from 'zod';
import { forEachLimit, type Limit } from './limit-table.ts';

/** Policy of a limit while the shared store is unavailable. */
export type OutagePolicy = 'open' | 'closed' | 'local';

const policy = z.enum(['open', 'closed', 'local']);

/** Names only a limit whose policy differs from the others. */
export const outagePolicySchema = z.strictObject({
  default: policy
    .default('local')
    .describe(
      'What becomes of limits while the store is out. `local`: each instance admits its share, the limit ÷ the instances last seen, at least `state_min_instances` (of what was left of a day or month). `open`: the limit is not applied. `closed`: accounts with the limit get 502 `server_error`.',
    ),
  ...forEachLimit(() => policy.optional().describe('Another policy for this limit.')),
});

export type OutagePolicies = z.output<typeof outagePolicySchema>;

export function policyOf(policies: OutagePolicies, { name }: Limit): OutagePolicy {
  return policies[name] ?? policies.default;
}
