import { picoUsd, usdOf } from '../money.ts';
import type { UsageSum } from '../stores/records/usage-query.ts';

type Totals = Omit<UsageSum, 'account' | 'model' | 'day' | 'month'>;

/** Exact total of `sums`. */
export function totalOf(sums: readonly UsageSum[]): Totals {
  const count = (of: (sum: UsageSum) => number): number => sums.reduce((total, sum) => total + of(sum), 0);
  return {
    requests: count(sum => sum.requests),
    failed_requests: count(sum => sum.failed_requests),
    estimated_requests: count(sum => sum.estimated_requests),
    prompt_tokens: count(sum => sum.prompt_tokens),
    completion_tokens: count(sum => sum.completion_tokens),
    cached_tokens: count(sum => sum.cached_tokens),
    reasoning_tokens: count(sum => sum.reasoning_tokens),
    cost_usd: usdOf(sums.reduce((total, { cost_usd }) => total + picoUsd(cost_usd), 0n)),
  };
}

/** Totals of each group, in the order of first occurrence. */
export function totalsBy(
  sums: readonly UsageSum[],
  groupOf: (sum: UsageSum) => string,
): readonly { readonly group: string; readonly total: Totals }[] {
  return [...Map.groupBy(sums, groupOf)].map(([group, members]) => ({ group, total: totalOf(members) }));
}
