import type { ConfigIssue } from '../diagnostics/config-error.ts';
import type { AccountsConfig } from '../stores/accounts/accounts.ts';
import { AccountLimits, type Plans } from '../stores/limits/plan-limits.ts';

/** The settings that decide who is served, within which limits. */
export interface Access {
  /** Names of the stages, in order. */
  readonly stages: readonly string[];
  readonly accounts: AccountsConfig;
  readonly plans: Plans;
  /** True if requests are to be served without `auth`. */
  readonly open: boolean;
  /** True if the application says with `accountOf` whose requests they are. */
  readonly accountOf: boolean;
}

/** Where and how `open` is written, for messages; and whether anything else admits requests without accounts and plans. */
export interface AccessPlace {
  readonly path: readonly PropertyKey[];
  readonly written: string;
  readonly mayBeInner: boolean;
}

/** Reports a chain that would serve everyone, or enforce no limits, although its configuration reads otherwise. */
export function* checkAccess(access: Access, place: AccessPlace): Generator<ConfigIssue> {
  const { stages, open } = access;
  const hasAuth = stages.includes('auth');
  if (open && hasAuth)
    yield { path: place.path, message: 'has no effect: the stage auth refuses requests without a key' };
  if (access.accountOf && !hasAuth)
    yield { path: ['stages'], message: 'must list auth: without it the option accountOf has no effect' };
  else if (!open && !hasAuth && !(place.mayBeInner && isEmpty(access)))
    yield {
      path: ['stages'],
      message: `must list auth: without it every request is served, without a key. If that is meant, write ${place.written}`,
    };
  yield* checkLimitStage(access);
}

/** Reports limits that would not be enforced: the stage is missing, or runs before the account is known. */
function* checkLimitStage({ stages, accounts, plans }: Access): Generator<ConfigIssue> {
  const at = stages.indexOf('rate-limit');
  if (at !== -1 && at < stages.indexOf('auth'))
    yield { path: ['stages', at], message: 'must come after auth, which finds the account that is limited' };
  const limited = pathOfLimits(plans, accounts);
  if (at === -1 && limited !== undefined)
    yield { path: ['stages'], message: `must list rate-limit: nothing else holds the limits of ${limited}` };
}

const isEmpty = ({ accounts, plans }: Access): boolean =>
  Object.keys(accounts).length === 0 && pathOfLimits(plans, {}) === undefined;

/** Path of the first limits, if any. */
function pathOfLimits(plans: Plans, accounts: AccountsConfig): string | undefined {
  for (const [name, plan] of Object.entries(plans))
    if (new AccountLimits(plan, undefined).all.length > 0) return `plans.${name}`;
  for (const [id, { limits }] of Object.entries(accounts))
    if (new AccountLimits(undefined, limits).all.length > 0) return `accounts.${id}`;
  return undefined;
}
