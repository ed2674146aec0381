import { errorClasses } from '../common/end-class.ts';
import { signedPicoUsd, signedUsdOf } from '../common/money.ts';
import type { UsageGroup, UsageSum } from './usage-records.ts';

/** What exchanges add up to. */
export type Totals = Omit<UsageSum, UsageGroup>;

/** Exact total of `sums`. */
export function totalOf(sums: readonly UsageSum[]): Totals {
  const count = (name: (typeof counted)[number]) => sums.reduce((total, sum) => total + sum[name], 0);
  const counts = Object.fromEntries(counted.map(name => [name, count(name)]));
  const usd = (name: 'cost_usd' | 'paid_usd' | 'margin_usd') =>
    signedUsdOf(sums.reduce((total, sum) => total + signedPicoUsd(sum[name] ?? '0'), 0n));
  const paid_requests = sums.reduce((total, sum) => total + (sum.paid_requests ?? 0), 0);
  const paid = paid_requests > 0 && {
    paid_requests,
    paid_usd: usd('paid_usd'),
    margin_usd: usd('margin_usd'),
  };
  return { ...(counts as Record<(typeof counted)[number], number>), cost_usd: usd('cost_usd'), ...paid };
}

/** What is left of `whole` without `part`, of requests and of what they have cost. */
export function without(whole: Totals, part: Totals): Totals {
  const counts = Object.fromEntries(counted.map(name => [name, whole[name] - part[name]]));
  const cost_usd = signedUsdOf(signedPicoUsd(whole.cost_usd) - signedPicoUsd(part.cost_usd));
  return { ...(counts as Record<(typeof counted)[number], number>), cost_usd };
}

const counted = [
  'requests',
  'failed_requests',
  ...errorClasses,
  'estimated_requests',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'reasoning_tokens',
] as const;
