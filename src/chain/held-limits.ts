import { AccountLimits, type Plans } from '../stores/limits.ts';

/** Throws an Error for plans that a chain would not hold: without `rate-limit`, or with it where the account is not known yet. */
export function assertHeld(plans: Plans, stages: readonly string[]): void {
  const limited = Object.keys(plans).find(name => new AccountLimits(plans[name], undefined).hasAny);
  if (limited === undefined) return;
  const at = stages.indexOf('rate-limit');
  if (at === -1)
    throw new Error(
      `createChain: plans.${limited} has limits, and the stage rate-limit, which holds them, is missing`,
    );
  if (at < stages.indexOf('auth'))
    throw new Error('createChain: rate-limit must come after auth, which finds the account that is limited');
}
