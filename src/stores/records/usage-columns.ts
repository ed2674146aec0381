import type { UsageGroup, UsageSum } from './usage-query.ts';

/** The name of usage without a model, in output and queries. */
export const no_model = '(none)';

/** One column of usage, as the command and the dashboard export it. */
export interface UsageColumn {
  readonly title: string;
  readonly value: (sum: UsageSum) => number | string;
  readonly isNumber?: boolean;
}

/** The groups, then what was counted, then the exact cost. */
export function usageColumns(by: readonly UsageGroup[]): UsageColumn[] {
  const number = (title: string, value: UsageColumn['value']): UsageColumn => ({
    title,
    value,
    isNumber: true,
  });
  return [
    ...by.map(group => ({ title: group, value: (sum: UsageSum) => shownGroup(sum[group]) })),
    number('requests', ({ requests }) => requests),
    number('failed', ({ failed_requests }) => failed_requests),
    number('estimated', ({ estimated_requests }) => estimated_requests),
    number('prompt_tokens', ({ prompt_tokens }) => prompt_tokens),
    number('cached_tokens', ({ cached_tokens }) => cached_tokens),
    number('completion_tokens', ({ completion_tokens }) => completion_tokens),
    number('reasoning_tokens', ({ reasoning_tokens }) => reasoning_tokens),
    number('total_tokens', ({ prompt_tokens, completion_tokens }) => prompt_tokens + completion_tokens),
    number('cost_usd', ({ cost_usd }) => cost_usd),
  ];
}

/** A sum of all has no groups; a request that named no model has none. */
const shownGroup = (name: string | undefined): string => (name === '' ? no_model : (name ?? ''));
