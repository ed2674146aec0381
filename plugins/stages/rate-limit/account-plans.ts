import { type Account, AccountLimits, type Plan, type Plans, unusableAccount } from '../../../src/plugin.ts';

/** Finds the limits of an account, made once for each that a directory hands out. */
export class AccountPlans {
  readonly #plans: Plans;
  readonly #others: AccountLimits;
  readonly #byAccount = new WeakMap<Account, AccountLimits>();

  /** `others` are the limits of those who have neither a plan nor limits of their own. */
  constructor(plans: Plans, others: Plan | undefined) {
    this.#plans = plans;
    this.#others = new AccountLimits(others, undefined);
  }

  /** Throws `configuration_error` for an account whose plan is not there: without limits it would be let in by mistake. */
  limitsOf(account: Account | undefined): AccountLimits {
    if (!account) return this.#others;
    let limits = this.#byAccount.get(account);
    if (!limits) this.#byAccount.set(account, (limits = this.#make(account)));
    return limits;
  }

  #make({ id, plan: name, limits }: Account): AccountLimits {
    if (name === undefined && Object.keys(limits ?? {}).length === 0) return this.#others;
    if (name === undefined) return new AccountLimits(undefined, limits);
    if (!Object.hasOwn(this.#plans, name))
      throw unusableAccount(`account '${id}' has the plan '${name}', which is not configured`);
    return new AccountLimits(this.#plans[name], limits);
  }
}
