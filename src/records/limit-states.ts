import type { Clock } from '../common/clock.ts';
import { usdOf } from '../common/money.ts';
import { rootOf } from '../gateway/accounts/accounts.ts';
import type { StagePlan } from '../gateway/exchange/stage-plan.ts';
import {
  type Limit,
  type LimitName,
  neverResets,
  periodsOf,
  rowOf,
  windowOf,
} from '../gateway/limits/limit-table.ts';
import {
  AccountLimits,
  keyLimitsSchema,
  type LimitsOfOne,
  limitOverridesSchema,
  type Plan,
  type Plans,
} from '../gateway/limits/plan-limits.ts';
import { amountUsed, type LimitStatus, type StateStore } from '../gateway/limits/state-store.ts';
import type { AccountRecord, Credit } from './account-records.ts';
import { max_parents } from './account-tree.ts';
import type { ConfiguredAccounts } from './configured-accounts.ts';
import { RecordRefused } from './record-errors.ts';
import type { RecordsStore } from './records-store.ts';

/** What of the configuration says which limits accounts have. */
export interface LimitSettings {
  /** Limits by plan. */
  readonly plans: Plans;
  /** The chain. */
  readonly stages: readonly Pick<StagePlan, 'name' | 'options'>[];
}

/** An account as far as it has limits; those of the store are not checked yet. */
export interface LimitedAccount {
  /** Its id; needed where it has parents. */
  readonly id?: string;
  /** The models that it may use, of one of the store. */
  readonly models?: readonly string[] | null | undefined;
  /** Lists of the models that it may use, of one of the configuration: its own, and those of the accounts above it. */
  readonly model_lists?: readonly (readonly string[])[] | undefined;
  /** The accounts above it, as `accountsAbove` finds them. */
  readonly parents?: readonly (LimitedAccount & { readonly id: string })[] | undefined;
  /** A plan of the configuration. */
  readonly plan?: string | null | undefined;
  /** Limits in place of those of the plan. */
  readonly limits?: Readonly<Record<string, unknown>> | undefined;
  /** The key whose own limits hold as well. */
  readonly key_id?: string | undefined;
  /** Those. */
  readonly key_limits?: Readonly<Record<string, unknown>> | undefined;
}

/** Why an account has no limits that can be shown: none are enforced, there are none, its plan is gone, or they are malformed. */
export type NoLimits = 'no stage' | 'no limits' | 'no plan' | 'unknown';

/** The limits among the options of the stage `rate-limit`. */
interface RateLimits {
  readonly plans?: Readonly<Record<string, Plan>>;
  readonly limits?: Plan;
}

/** Its options, if the chain has it. */
const rateLimitsOf = ({ stages }: LimitSettings): RateLimits | undefined =>
  stages.find(({ name }) => name === 'rate-limit')?.options as RateLimits | undefined;

/** The limits of `plan` as the stage `rate-limit` holds them; undefined if there is no such plan. */
export function planLimitsOf(settings: LimitSettings, plan: string | undefined): Plan | undefined {
  const { plans = settings.plans } = rateLimitsOf(settings) ?? {};
  return plan !== undefined && Object.hasOwn(plans, plan) ? plans[plan] : undefined;
}

/** A credit for an account of the store, where the stage `rate-limit` holds these plans. */
export const creditOf = (
  { settings }: { readonly settings: LimitSettings },
  amount_usd: string,
  reason?: string,
): Credit => ({
  amount_usd,
  reason,
  ofPlan: plan => planLimitsOf(settings, plan ?? undefined)?.usd_total,
});

/** Whether accounts without a plan and overrides have limits, which the first override of an account replaces. */
export const hasLimitsWithoutPlan = (settings: LimitSettings): boolean =>
  Object.keys(rateLimitsOf(settings)?.limits ?? {}).length > 0;

/** Every limit under which requests of an account count, as the stage `rate-limit` holds them. */
export function limitsOf(
  settings: LimitSettings,
  { parents = [], key_id, key_limits, ...account }: LimitedAccount,
): readonly Limit[] | NoLimits {
  const stage = rateLimitsOf(settings);
  if (!stage) return 'no stage';
  const ofKey = keyLimitsSchema.safeParse(key_limits ?? {});
  if (!ofKey.success) return 'unknown';
  const key = key_id === undefined ? undefined : { id: key_id, limits: ofKey.data };
  const found: LimitsOfOne[] = [];
  for (const { id = '', plan, limits = {} } of [account, ...parents]) {
    const ofPlan = planLimitsOf(settings, plan ?? undefined);
    if (plan != null && !ofPlan) return 'no plan';
    const own = limitOverridesSchema.safeParse(limits);
    if (!own.success) return 'unknown';
    const isPlain = plan == null && Object.keys(limits).length === 0;
    found.push({ id, plan: isPlain ? stage.limits : ofPlan, own: own.data });
  }
  const [{ id, plan, own }, ...above] = found as [LimitsOfOne, ...LimitsOfOne[]];
  const tree = above.length > 0 ? { id, parents: above } : undefined;
  const { all } = new AccountLimits(plan, own, key, tree);
  return all.length === 0 ? 'no limits' : all;
}

/** Where accounts are kept. */
interface AccountPlaces {
  readonly configured: Pick<ConfiguredAccounts, 'findById'>;
  readonly records: { readonly store: Pick<RecordsStore, 'accounts'> };
}

/** The accounts that are above one with this parent, the nearest first, as far as they are there. */
export async function accountsAbove(
  { configured, records }: AccountPlaces,
  parent: string | null | undefined,
): Promise<readonly (LimitedAccount & { readonly id: string })[]> {
  const above: AccountRecord[] = [];
  for (let id = parent; id != null && above.length < max_parents; id = above.at(-1)!.parent) {
    const own = configured.findById(id);
    if (own) return [...above, own, ...(own.parents ?? [])].slice(0, max_parents);
    const stored = await records.store.accounts.find(id);
    if (!stored) break;
    above.push(stored);
  }
  return above;
}

/** Use of one limit, for people and programs: money in dollars, as an exact decimal. */
export interface LimitState {
  /** The name of the limit, as in the configuration. */
  readonly name: LimitName;
  /** The model that it limits; absent for all models together. */
  readonly model?: string;
  /** Id of the key that it limits; absent for all keys of the account together. */
  readonly key?: string;
  /** Set if it is a limit of an account above, which holds for all below that together. */
  readonly inherited?: true;
  /** Set if it refuses nothing. */
  readonly soft?: true;
  /** RFC 3339: until when `max` is a raised one; absent for one that is not raised. */
  readonly raised_until?: string;
  /** The most that is admitted. */
  readonly max: number | string;
  /** What counts now; above `max` where a limit is soft, was lowered, or requests used more than they reserved. */
  readonly used: number | string;
  /** How much more would be admitted now. */
  readonly remaining: number | string;
  /** RFC 3339: when the period ends, or nothing counts any longer; null for concurrency and in total, and in minutes without use. */
  readonly resets_at: string | null;
}

/** The part of a gateway that knows the limits of accounts. */
export interface LimitSource {
  /** The configuration. */
  readonly settings: LimitSettings;
  /** Use of the limits. */
  readonly state: Pick<StateStore, 'statuses'>;
  /** Time of day. */
  readonly clock: Pick<Clock, 'epoch_ms'>;
}

/**
 * The use of every limit of an account, as all instances together have counted it; empty without any. Rejects if the state store does not
 * answer, and with RecordRefused for an account that cannot be served, because its plan is gone or its limits are malformed.
 */
export async function limitStates(
  { settings, state, clock }: LimitSource,
  account: LimitedAccount & { readonly id: string },
): Promise<LimitState[]> {
  const limits = limitsOf(settings, account);
  if (limits === 'no plan' || limits === 'unknown')
    throw new RecordRefused(`account '${account.id}' cannot be served: ${whyUnknown[limits]}`);
  if (typeof limits === 'string') return [];
  const now_ms = clock.epoch_ms();
  return (await state.statuses(rootOf(account), limits)).map(status => stateOf(status, now_ms));
}

const whyUnknown = {
  'no plan': 'its plan is not configured',
  unknown: 'its limits are malformed',
} as const;

function stateOf(status: LimitStatus, now_ms: number): LimitState {
  const { limit, remaining, reset_ms } = status;
  const { name, model, key, inherited, soft, raised_until_ms, max } = limit;
  const isMoney = rowOf(limit).unit === 'nano_usd';
  const shown = (amount: number) => (isMoney ? usdOf(BigInt(amount) * 1000n) : amount);
  return {
    name,
    ...(model !== undefined && { model }),
    ...(key !== undefined && { key }),
    ...(inherited && { inherited }),
    ...(soft && { soft }),
    ...(raised_until_ms && { raised_until: new Date(raised_until_ms).toISOString() }),
    max: shown(max),
    used: shown(amountUsed(status)),
    remaining: shown(remaining),
    resets_at: resetOf(limit, reset_ms, now_ms),
  };
}

function resetOf(limit: Limit, reset_ms: number, now_ms: number): string | null {
  const { kind } = windowOf(limit);
  if (kind === 'running' || neverResets(limit)) return null;
  if (kind === 'calendar') return new Date(periodsOf(limit).around(now_ms).end_ms).toISOString();
  return reset_ms > 0 ? new Date(now_ms + reset_ms).toISOString() : null;
}
