import type { ErrorCounts } from '../../../src/common/end-class.ts';

/** What usage is grouped by. Hours, days and months are those in which exchanges began, in UTC; the provider is the one that was asked last. */
export const usageGroups = ['account', 'model', 'provider', 'key', 'hour', 'day', 'month'] as const;
export type UsageGroup = (typeof usageGroups)[number];

export interface UsageQuery {
  readonly account?: string | undefined;
  readonly model?: string | undefined;
  /** Empty for requests that reached none. */
  readonly provider?: string | undefined;
  /** The id of a key of the store; empty for others. */
  readonly key?: string | undefined;
  /** `2026-11-20`; both inclusive. */
  readonly from_day?: string;
  readonly to_day?: string;
  /** One sum for each combination; a single sum of all without. */
  readonly by: readonly UsageGroup[];
  /** Only these names of a group, one at least, if given. */
  readonly among?: { readonly group: UsageGroup; readonly names: readonly string[] };
  /** By group, or the largest first. */
  readonly order?: 'group' | 'cost' | 'tokens' | 'requests';
  readonly limit?: number;
}

/**
 * What exchanges add up to, with the groups of the query. `model`, `provider` and `key` are empty where there is none; `month` is as
 * `2026-11`, `hour` as `2026-11-20 12:00`.
 */
export interface UsageSum extends Readonly<Partial<Record<UsageGroup, string>>>, ErrorCounts {
  readonly requests: number;
  /** Errors of every class; more than those together where some are of before the upgrade that told them apart. */
  readonly failed_requests: number;
  /** Their tokens were estimated by the gateway, not reported by the upstream. */
  readonly estimated_requests: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  /** A part of the prompt's. */
  readonly cached_tokens: number;
  /** A part of the completion's. */
  readonly reasoning_tokens: number;
  readonly cost_usd: string;
}

/** The columns that refusals are counted by. */
export const refusalKeys = 'day, account, key_id, model, status, error_type, end_reason';

export type RefusalQuery = Pick<UsageQuery, 'account' | 'from_day' | 'to_day'> & { readonly limit: number };

/** Refusals of one day; `key_id`, `model` and `error_type` are empty where there was none. */
export type RefusalSum = Readonly<
  Record<'day' | 'account' | 'key_id' | 'model' | 'error_type' | 'end_reason', string> &
    Record<'status' | 'requests', number>
>;
