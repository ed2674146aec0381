import type { ErrorCounts } from '../common/end-class.ts';
import type { Charge } from '../gateway/limits/limit-units.ts';

/** What usage is grouped by. Hours, days and months are those in which exchanges began, in UTC; the provider is the one that was asked last. */
export const usageGroups = ['account', 'model', 'provider', 'key', 'hour', 'day', 'month'] as const;

/** One of these. */
export type UsageGroup = (typeof usageGroups)[number];

/** Which usage is added up. */
export interface UsageQuery {
  /** Id of the account. */
  readonly account?: string | undefined;
  /** Id of the model; empty for none. */
  readonly model?: string | undefined;
  /** Empty for requests that reached none. */
  readonly provider?: string | undefined;
  /** The id of a key of the store; empty for others. */
  readonly key?: string | undefined;
  /** `2026-11-20`; both inclusive. */
  readonly from_day?: string;
  /** The last day. */
  readonly to_day?: string;
  /** One sum for each combination; a single sum of all without. */
  readonly by: readonly UsageGroup[];
  /** Only these names of a group, one at least, if given. */
  readonly among?: { readonly group: UsageGroup; readonly names: readonly string[] };
  /** By group, or the largest first. */
  readonly order?: 'group' | 'cost' | 'tokens' | 'requests';
  /** How many at most. */
  readonly limit?: number;
}

/**
 * What exchanges add up to, with the groups of the query. `model`, `provider` and `key` are empty where there is none; `month` is as
 * `2026-11`, `hour` as `2026-11-20 12:00`.
 */
export interface UsageSum extends Readonly<Partial<Record<UsageGroup, string>>>, ErrorCounts {
  /** Whose requests they were. */
  readonly account?: string;
  /** The model; empty for none. */
  readonly model?: string;
  /** The provider that was asked last; empty for none. */
  readonly provider?: string;
  /** Id of a key of the store; empty for others. */
  readonly key?: string;
  /** The hour in which they began. */
  readonly hour?: string;
  /** The day. */
  readonly day?: string;
  /** The month. */
  readonly month?: string;
  /** How many. */
  readonly requests: number;
  /** Errors of every class; more than those together where some are of before the upgrade that told them apart. */
  readonly failed_requests: number;
  /** Their tokens were estimated by the gateway, not reported by the upstream. */
  readonly estimated_requests: number;
  /** Tokens of prompts. */
  readonly prompt_tokens: number;
  /** Tokens of answers, reasoning included. */
  readonly completion_tokens: number;
  /** A part of the prompt's. */
  readonly cached_tokens: number;
  /** A part of the completion's. */
  readonly reasoning_tokens: number;
  /** US dollars, as an exact decimal. */
  readonly cost_usd: string;
  /** Of how many it is known what their providers are paid; absent for none, as what follows. For operators, not for the account. */
  readonly paid_requests?: number;
  /** What the providers of these are paid. */
  readonly paid_usd?: string;
  /** What these have cost beyond that; it may be below zero. */
  readonly margin_usd?: string;
}

/** Which refusals are listed. */
export interface RefusalQuery extends Pick<UsageQuery, 'account' | 'from_day' | 'to_day'> {
  /** How many at most. */
  readonly limit: number;
}

/** Refusals of one day; `key_id`, `model` and `error_type` are empty where there was none. */
export interface RefusalSum {
  /** The day. */
  readonly day: string;
  /** Whose requests they were. */
  readonly account: string;
  /** Id of the key. */
  readonly key_id: string;
  /** Id of the model. */
  readonly model: string;
  /** HTTP status. */
  readonly status: number;
  /** Type of the error. */
  readonly error_type: string;
  /** Why they ended. */
  readonly end_reason: string;
  /** How many there were. */
  readonly requests: number;
}

/** Use of one model by an account or a key from some time on; `model` is `*` for all together. Costs are rounded up by the day. */
export interface BudgetSum extends Charge {
  /** The id of the account or of the key. */
  readonly owner: string;
  /** Id of the model; empty for none. */
  readonly model: string;
  /** The place of the time since which it was used, of those that were asked for; what was used since the next one is not in it. */
  readonly since: number;
}

/** What the requests of a key add up to; those that were refused count, as failed, and cost nothing. */
export interface KeyUse extends Pick<UsageSum, 'requests' | 'failed_requests' | 'cost_usd'>, ErrorCounts {
  /** Of prompts and completions together. */
  readonly tokens: number;
}

/** No model has this name; an exchange that named none has the empty one. */
export const all_models = '*';

/** Sums of the ledger, with what was refused before an upstream was asked. */
export interface UsageRecords {
  /** Requests that were refused before an upstream was asked, the most frequent first. */
  refusals(query: RefusalQuery): Promise<RefusalSum[]>;
  /**
   * What accounts have used since each of some times, the earliest first, with the whole hour that a time is in. Since 0 is all that they
   * have ever used, what is in the sums of later times as well. Failed requests are left out.
   */
  budgets(accounts: readonly string[], since_ms: readonly number[]): Promise<BudgetSum[]>;
  /** The same of keys of the store, of all models together. */
  budgetsOfKeys(keys: readonly string[], since_ms: readonly number[]): Promise<BudgetSum[]>;
  /** What these keys of the store have been used for since `from_day`; without those that were not used. */
  ofKeys(ids: readonly string[], from_day: string): Promise<Map<string, KeyUse>>;
  /** What a key of the store has been used for on each day since `from_day`, without those on which it was not used. */
  ofKeyByDay(id: string, from_day: string): Promise<Map<string, KeyUse>>;
  /** The first days of which there are sums by provider, and those by the hour and by key; undefined without any. */
  detailedSince(): Promise<{ readonly providers: string | undefined; readonly hours: string | undefined }>;
  /** What exchanges add up to, by the groups of the query. */
  sum(query: UsageQuery): Promise<UsageSum[]>;
}
