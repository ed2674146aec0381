import {
  type Account,
  AccountLimits,
  type AccountRecord,
  type ExtensionContext,
  type KeyRecord,
  keyLimitsSchema,
  type Limit,
  type LimitStatus,
  limitOverridesSchema,
  type Plan,
} from '../../src/plugin.ts';
import { samplesOf } from './live-figures.ts';

/** An account as shown in the dashboard. */
export interface AccountView {
  readonly id: string;
  readonly plan: string | undefined;
  readonly limits: Readonly<Record<string, unknown>>;
  /** Where it is kept and changed: in the configuration, in the records store, or by the application itself. */
  readonly source: 'configuration' | 'store' | 'application';
  readonly created_ms: number | undefined;
  /** Shown beside the id; empty for none. */
  readonly display_name: string;
  /** When it was disabled; `null` while it is enabled. */
  readonly disabled_ms: number | null;
}

/** Of accounts that are not in the records store. */
const elsewhere = { created_ms: undefined, display_name: '', disabled_ms: null };

/** Finds an account by name. The configuration takes precedence over the store, as for requests; what the application gave last is known to this instance only. */
export async function findAccount(context: ExtensionContext, id: string): Promise<AccountView | undefined> {
  const configured = configuredAccount(context, id);
  if (configured) return configured;
  const stored = await context.records.store.accounts.find(id);
  if (stored) return storedAccount(stored);
  const given = context.application?.lastGiven(id);
  return given && givenAccount(given);
}

export const storedAccount = (stored: AccountRecord): AccountView => ({
  ...stored,
  plan: stored.plan ?? undefined,
  source: 'store',
});

/** An account that the application keeps itself. */
export const givenAccount = ({ id, plan, limits = {} }: Account): AccountView => ({
  id,
  plan,
  limits,
  source: 'application',
  ...elsewhere,
});

/** Finds an account of the configuration by name. */
export function configuredAccount({ settings }: ExtensionContext, id: string): AccountView | undefined {
  if (!Object.hasOwn(settings.accounts, id)) return undefined;
  const { plan, limits = {} } = settings.accounts[id]!;
  return { id, plan, limits, source: 'configuration', ...elsewhere };
}

/** The usage of one limit. */
export type Use = LimitStatus & { readonly used: number };

/** Usage of each limit of an account, or why there is none. */
export type Uses = readonly Use[] | 'no stage' | 'no limits' | 'no plan' | 'unknown';

/** The limits among the options of the stage `rate-limit`. */
interface RateLimits {
  readonly plans?: Readonly<Record<string, Plan>>;
  readonly limits?: Plan;
}

/** Its options, if the chain has it. */
const rateLimitsOf = ({ settings }: ExtensionContext): RateLimits | undefined =>
  settings.stages.find(({ name }) => name === 'rate-limit')?.options as RateLimits | undefined;

/** The limits of `plan` as the stage `rate-limit` holds them; undefined if there is no such plan. */
export function planLimitsOf(context: ExtensionContext, plan: string | undefined): Plan | undefined {
  const { plans = context.settings.plans } = rateLimitsOf(context) ?? {};
  return plan !== undefined && Object.hasOwn(plans, plan) ? plans[plan] : undefined;
}

/** Whether accounts without a plan and overrides have limits, which the first override of an account replaces. */
export const hasLimitsWithoutPlan = (context: ExtensionContext): boolean =>
  Object.keys(rateLimitsOf(context)?.limits ?? {}).length > 0;

/** Current usage of each limit, as counted by all instances together. */
export async function usesOf(context: ExtensionContext, { id, plan, limits }: AccountView): Promise<Uses> {
  const stage = rateLimitsOf(context);
  if (!stage) return 'no stage';
  const planLimits = planLimitsOf(context, plan);
  if (plan !== undefined && !planLimits) return 'no plan';
  const own = limitOverridesSchema.safeParse(limits);
  if (!own.success) return 'unknown';
  const hasOwn = plan !== undefined || Object.keys(limits).length > 0;
  const { all } = hasOwn
    ? new AccountLimits(planLimits, own.data)
    : new AccountLimits(stage.limits, undefined);
  return all.length === 0 ? 'no limits' : readUses(context, id, all);
}

/** Current usage of each of a key's own limits, as counted by all instances together. */
export async function usesOfKey(
  context: ExtensionContext,
  { id, account, limits }: KeyRecord,
): Promise<Uses> {
  if (!rateLimitsOf(context)) return 'no stage';
  const checked = keyLimitsSchema.safeParse(limits);
  if (!checked.success) return 'unknown';
  const { all } = new AccountLimits(undefined, undefined, { id, limits: checked.data });
  return all.length === 0 ? 'no limits' : readUses(context, account, all);
}

async function readUses(context: ExtensionContext, account: string, limits: readonly Limit[]): Promise<Uses> {
  try {
    const statuses = await context.state.statuses(account, limits);
    return statuses.map(status => ({ ...status, used: status.limit.max - status.remaining }));
  } catch (fault) {
    context.log.warn({ err: fault }, 'failed to read the usage of an account');
    return 'unknown';
  }
}

/** Share of a limit from which on it is near exhaustion. */
const near = 0.8;

/** A limit of an account, in use. */
export interface NearLimit {
  readonly account: string;
  readonly use: Use;
}

/**
 * Limits of which at least 80 % are used, fullest first; or why they are unknown, if the state store is unavailable. The stage `rate-limit`
 * knows the fullest accounts that this instance has served; what they have used of them at all instances the state store says.
 */
export async function nearLimits(context: ExtensionContext): Promise<readonly NearLimit[] | 'out'> {
  if (context.state.outage) return 'out';
  const fullest = await samplesOf(await context.server.registry(), 'sluice_limit_used_ratio');
  const accounts = new Set(fullest.filter(({ value }) => value >= near).map(({ labels }) => labels.account));
  const all = await Promise.all([...accounts].map(account => limitsOf(context, String(account))));
  return all
    .flat()
    .filter(limit => shareOf(limit) >= near)
    .sort((a, b) => shareOf(b) - shareOf(a));
}

const shareOf = ({ use }: NearLimit): number => use.used / use.limit.max;

async function limitsOf(context: ExtensionContext, id: string): Promise<NearLimit[]> {
  const account = await findAccount(context, id);
  const uses = account ? await usesOf(context, account) : 'unknown';
  return typeof uses === 'string' ? [] : uses.map(use => ({ account: id, use }));
}
