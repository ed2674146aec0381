import {
  type Account,
  type AccountRecord,
  accountsAbove,
  amountUsed,
  type ExtensionContext,
  type KeyRecord,
  type Limit,
  type LimitStatus,
  limitsOf,
  type NoLimits,
  rootOf,
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
  /** The account whose limits hold for it as well. */
  readonly parent?: string | null | undefined;
  /** The models that it may use. */
  readonly models?: readonly string[] | null | undefined;
  /** Mail addresses of its people, who are told of its limits. */
  readonly contacts?: readonly string[];
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
  const { plan, limits = {}, parent, models, contacts = [] } = settings.accounts[id]!;
  return { id, plan, limits, parent, models, contacts, source: 'configuration', ...elsewhere };
}

/** The usage of one limit. */
export type Use = LimitStatus & { readonly used: number };

/** Usage of each limit of an account, or why there is none. */
export type Uses = readonly Use[] | NoLimits;

/** Current usage of each limit, as counted by all instances together. */
export async function usesOf(context: ExtensionContext, account: AccountView): Promise<Uses> {
  const placed = { ...account, parents: await accountsAbove(context, account.parent) };
  const limits = limitsOf(context.settings, placed);
  return typeof limits === 'string' ? limits : readUses(context, rootOf(placed), limits);
}

/** Current usage of each of a key's own limits, as counted by all instances together. */
export async function usesOfKey(
  context: ExtensionContext,
  { id, account, limits: key_limits }: KeyRecord,
): Promise<Uses> {
  const all = limitsOf(context.settings, { key_id: id, key_limits });
  if (typeof all === 'string') return all;
  const own = all.filter(({ key }) => key === id);
  if (own.length === 0) return 'no limits';
  const above = await accountsAbove(context, (await findAccount(context, account))?.parent);
  return readUses(context, rootOf({ id: account, parents: above }), own);
}

async function readUses(context: ExtensionContext, account: string, limits: readonly Limit[]): Promise<Uses> {
  try {
    const statuses = await context.state.statuses(account, limits);
    return statuses.map(status => ({ ...status, used: amountUsed(status) }));
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
  const all = await Promise.all([...accounts].map(account => nearestOf(context, String(account))));
  return all
    .flat()
    .filter(limit => shareOf(limit) >= near)
    .sort((a, b) => shareOf(b) - shareOf(a));
}

const shareOf = ({ use }: NearLimit): number => use.used / use.limit.max;

/** The limits of which the most is used, at most `count` of them. */
export const nearest = (uses: Uses, count: number): Uses =>
  typeof uses === 'string'
    ? uses
    : uses.toSorted((a, b) => b.used / b.limit.max - a.used / a.limit.max).slice(0, count);

async function nearestOf(context: ExtensionContext, id: string): Promise<NearLimit[]> {
  const account = await findAccount(context, id);
  const uses = account ? await usesOf(context, account) : 'unknown';
  return typeof uses === 'string' ? [] : uses.map(use => ({ account: id, use }));
}
