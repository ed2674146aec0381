import { errorClasses } from '../common/end-class.ts';
import type { TaggedQuery, TaggedSum } from './tagged-usage.ts';
import type { UsageSum } from './usage-records.ts';

/** The name of usage without a model, in output and queries. */
export const no_model = '(none)';

/** One column of usage, as the command and the dashboard export it. */
export interface UsageColumn {
  readonly title: string;
  readonly value: (sum: UsageSum) => number | string;
  readonly isNumber?: boolean;
}

/** `errors` are all; those of before the store told them apart are in none of the classes. */
const numbers: Readonly<Record<string, UsageColumn['value']>> = {
  requests: sum => sum.requests,
  errors: sum => sum.failed_requests,
  ...Object.fromEntries(errorClasses.map(name => [name, (sum: UsageSum) => sum[name]])),
  estimated: sum => sum.estimated_requests,
  prompt_tokens: sum => sum.prompt_tokens,
  cached_tokens: sum => sum.cached_tokens,
  completion_tokens: sum => sum.completion_tokens,
  reasoning_tokens: sum => sum.reasoning_tokens,
  total_tokens: sum => sum.prompt_tokens + sum.completion_tokens,
  cost_usd: sum => sum.cost_usd,
};

/** Empty where it is not known. */
const paid: Readonly<Record<string, UsageColumn['value']>> = {
  paid_requests: sum => sum.paid_requests ?? '',
  paid_usd: sum => sum.paid_usd ?? '',
  margin_usd: sum => sum.margin_usd ?? '',
};

/** The groups, then what was counted, then the exact cost unless left out, and what is paid for it if asked for. */
export const usageColumns = (by: TaggedQuery['by'], hasCost = true, hasPaid = false): UsageColumn[] => [
  ...by.map(group => ({ title: group, value: (sum: UsageSum) => shownGroup((sum as TaggedSum)[group]) })),
  ...Object.entries({ ...numbers, ...(hasPaid && paid) })
    .filter(([title]) => hasCost || title !== 'cost_usd')
    .map(([title, value]) => ({ title, value, isNumber: true })),
];

/** Whether it is known of some requests what their providers are paid. */
export const hasPaid = (sums: readonly Pick<UsageSum, 'paid_requests'>[]): boolean =>
  sums.some(({ paid_requests }) => paid_requests !== undefined);

/** A sum of all has no groups; a request that named no model has none. */
const shownGroup = (name: string | undefined): string => (name === '' ? no_model : (name ?? ''));
