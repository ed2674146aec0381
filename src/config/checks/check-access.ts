import type { ConfigIssue } from '../../common/config-error.ts';
import type { StagePlan } from '../../gateway/exchange/stage-plan.ts';
import { AccountLimits, type Plans } from '../../gateway/limits/plan-limits.ts';
import type { AccountsConfig } from '../../records/configured-accounts.ts';

/** The settings that decide who is served, within which limits. */
export interface Access {
  /** The stages, in order. */
  readonly stages: readonly Pick<StagePlan, 'name' | 'authenticates'>[];
  readonly accounts: AccountsConfig;
  readonly plans: Plans;
  /** True if requests are to be served without a stage that authenticates them. */
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
  const auth = stages.find(({ authenticates }) => authenticates);
  if (open && auth) {
    const message = `has no effect: the stage ${auth.name} refuses requests ${auth.name === 'auth' ? 'without a key' : 'of unknown accounts'}`;
    yield { path: place.path, message };
  }
  if (access.accountOf && !auth)
    yield { path: ['stages'], message: 'must list auth: without it the option accountOf has no effect' };
  else if (!open && !auth && !(place.mayBeInner && isEmpty(access)))
    yield {
      path: ['stages'],
      message: `must list auth: without it every request is served, without a key. If that is meant, write ${place.written}; a stage of your own that replaces auth says authenticates: true in defineStage`,
    };
  yield* checkLimitStage(access);
}

/** Whether one of `stages` holds the limits of accounts. */
export const holdsLimits = (stages: Access['stages']): boolean =>
  stages.some(({ name }) => name === 'rate-limit');

/** Reports limits that would not be enforced: the stage is missing, or runs before the account is known. */
function* checkLimitStage({ stages, accounts, plans }: Access): Generator<ConfigIssue> {
  const at = stages.findIndex(({ name }) => name === 'rate-limit');
  const auth = stages.find(({ authenticates }) => authenticates);
  if (at !== -1 && auth && at < stages.indexOf(auth)) {
    const message = `must come after ${auth.name}, which finds the account that is limited`;
    yield { path: ['stages', at], message };
  }
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
  for (const [id, { limits, keys }] of Object.entries(accounts))
    if (new AccountLimits(undefined, limits).all.length > 0 || keys.some(key => key.limits))
      return `accounts.${id}`;
  return undefined;
}
