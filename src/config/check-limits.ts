import type { AccountsConfig } from '../stores/accounts.ts';
import { AccountLimits, type Plans } from '../stores/limits.ts';
import type { ConfigIssue } from './issue.ts';

interface Limited {
  readonly plans: Plans;
  readonly accounts: AccountsConfig;
  readonly stages?: readonly (string | Readonly<Record<string, unknown>>)[] | undefined;
}

/** Limits that the chain would not hold: without the stage, or with it where the account is not known yet. */
export function* checkLimitStage(config: Limited): Generator<ConfigIssue> {
  // The built-in order is as it has to be.
  if (!config.stages) return;
  const names = config.stages.map(entry => (typeof entry === 'string' ? entry : Object.keys(entry)[0]));
  const at = names.indexOf('rate-limit');
  const own = optionsOf(config.stages[at]);
  if (own && Object.hasOwn(own, 'plans'))
    yield { path: ['stages', at, 'rate-limit', 'plans'], message: 'belongs to plans, beside accounts' };
  const limited = pathOfLimits(config);
  if (limited === undefined) return;
  if (at === -1)
    yield { path: ['stages'], message: `must list rate-limit: nothing else holds the limits of ${limited}` };
  else if (at < names.indexOf('auth'))
    yield { path: ['stages', at], message: 'must come after auth, which finds the account that is limited' };
}

function optionsOf(entry: NonNullable<Limited['stages']>[number] | undefined): object | undefined {
  const options = typeof entry === 'object' ? entry['rate-limit'] : undefined;
  return typeof options === 'object' && options !== null ? options : undefined;
}

/** Where the first limits are, if there are any. */
function pathOfLimits({ plans, accounts }: Limited): string | undefined {
  for (const [name, plan] of Object.entries(plans))
    if (new AccountLimits(plan, undefined).hasAny) return `plans.${name}`;
  for (const [id, { limits }] of Object.entries(accounts))
    if (new AccountLimits(undefined, limits).hasAny) return `accounts.${id}`;
  return undefined;
}
