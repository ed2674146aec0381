import { picoUsd, usdOf } from '../money.ts';
import type { UsageSum } from '../stores/records/usage-query.ts';

/** What exchanges add up to. */
export type Totals = Omit<UsageSum, 'account' | 'model' | 'day' | 'month'>;

/** Exact total of `sums`. */
export function totalOf(sums: readonly UsageSum[]): Totals {
  const count = (name: Exclude<keyof Totals, 'cost_usd'>) =>
    sums.reduce((total, sum) => total + sum[name], 0);
  return {
    requests: count('requests'),
    failed_requests: count('failed_requests'),
    estimated_requests: count('estimated_requests'),
    prompt_tokens: count('prompt_tokens'),
    completion_tokens: count('completion_tokens'),
    cached_tokens: count('cached_tokens'),
    reasoning_tokens: count('reasoning_tokens'),
    cost_usd: usdOf(sums.reduce((total, { cost_usd }) => total + picoUsd(cost_usd), 0n)),
  };
}

/** Totals by group, in the order of first occurrence. */
export const totalsBy = (
  sums: readonly UsageSum[],
  group: 'model' | 'day' | 'month',
): readonly (readonly [name: string, total: Totals])[] =>
  [...Map.groupBy(sums, sum => sum[group]!)].map(([name, members]) => [name, totalOf(members)]);
