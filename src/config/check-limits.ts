import type { AccountsConfig } from '../stores/accounts.ts';
import { AccountLimits, type Plans } from '../stores/limits.ts';
import type { ConfigIssue } from './issue.ts';

interface Limited {
  readonly plans: Plans;
  readonly accounts: AccountsConfig;
}

/** Limits that the chain would not hold: without the stage, or with it where the account is not known yet. */
export function* checkLimitStage(config: Limited, stages: readonly string[]): Generator<ConfigIssue> {
  const limited = pathOfLimits(config);
  if (limited === undefined) return;
  const at = stages.indexOf('rate-limit');
  if (at === -1)
    yield { path: ['stages'], message: `must list rate-limit: nothing else holds the limits of ${limited}` };
  else if (at < stages.indexOf('auth'))
    yield { path: ['stages', at], message: 'must come after auth, which finds the account that is limited' };
}

/** Where the first limits are, if there are any. */
function pathOfLimits({ plans, accounts }: Limited): string | undefined {
  const hasLimits = ([plan, own]: ConstructorParameters<typeof AccountLimits>): boolean => {
    const limits = new AccountLimits(plan, own);
    const models = [...Object.keys(plan?.models ?? {}), ...Object.keys(own?.models ?? {})];
    return [undefined, ...models].some(model => limits.of(model).limits.length > 0);
  };
  for (const [name, plan] of Object.entries(plans)) if (hasLimits([plan, undefined])) return `plans.${name}`;
  for (const [id, { limits }] of Object.entries(accounts))
    if (hasLimits([undefined, limits])) return `accounts.${id}`;
  return undefined;
}
