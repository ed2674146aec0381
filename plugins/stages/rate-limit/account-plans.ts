import {
  type Account,
  AccountLimits,
  type Catalog,
  type LimitedKey,
  type LimitsOfOne,
  type PlaceInTree,
  type Plan,
  type Plans,
  rowOf,
  type StageSetup,
  unusableAccount,
} from '../../../src/plugin.ts';

/** Finds the limits of an account, created once for each account object. */
export class AccountPlans {
  readonly #plans: Plans;
  readonly #catalog: Catalog;
  readonly #unplanned: Plan | undefined;
  readonly #clock: Pick<StageSetup['clock'], 'epoch_ms'>;
  #others: AccountLimits;
  readonly #byAccount = new WeakMap<Account, AccountLimits>();

  /**
   * `others` are the limits of accounts without a plan or overrides. Throws an Error for limits that this catalog can never
   * reach.
   */
  constructor(
    plans: Plans,
    others: Plan | undefined,
    { catalog, clock }: Pick<StageSetup, 'catalog' | 'clock'>,
  ) {
    this.#plans = plans;
    this.#catalog = catalog;
    this.#clock = clock;
    this.#unplanned = others;
    this.#others = this.#limits(others, undefined);
    this.#check('limits', this.#others);
    for (const [name, plan] of Object.entries(plans))
      this.#check(`plans.${name}`, this.#limits(plan, undefined));
  }

  /**
   * Limits of an account. Throws `configuration_error` if they are missing or cannot be enforced: the account would be admitted by mistake.
   */
  limitsOf(account: Account | undefined): AccountLimits {
    if (!account) return this.#present(this.#others) ?? this.#unplannedLimits();
    let limits = this.#present(this.#byAccount.get(account));
    if (!limits) this.#byAccount.set(account, (limits = this.#make(account)));
    return limits;
  }

  /** The same, unless one of them is raised no longer. */
  #present(limits: AccountLimits | undefined): AccountLimits | undefined {
    return limits && limits.ends_ms < Infinity && limits.ends_ms <= this.#clock.epoch_ms()
      ? undefined
      : limits;
  }

  #unplannedLimits(): AccountLimits {
    this.#others = this.#present(this.#others) ?? this.#limits(this.#unplanned, undefined);
    return this.#others;
  }

  #limits(...of: [Plan | undefined, LimitsOfOne['own'], LimitedKey?, PlaceInTree?]): AccountLimits {
    const [plan, own, key, tree] = of;
    return new AccountLimits(plan, own, key, tree, this.#clock.epoch_ms());
  }

  #make(account: Account): AccountLimits {
    const { id, key_id, key_limits, parents } = account;
    const key = key_id !== undefined && key_limits ? { id: key_id, limits: key_limits } : undefined;
    if (hasNone(account) && !key && !parents) return this.#unplannedLimits();
    const { plan, own } = this.#sourceOf(account);
    const tree = parents && { id, parents: parents.map(parent => this.#sourceOf(parent)) };
    const limits = this.#limits(plan, own, key, tree);
    const problem = this.#problemOf(limits);
    if (problem) throw unusableAccount(`account '${id}': ${problem}`);
    return limits;
  }

  #sourceOf(account: Account): LimitsOfOne {
    const { id, plan: name, limits: own } = account;
    if (name !== undefined && !Object.hasOwn(this.#plans, name))
      throw unusableAccount(`account '${id}' has the plan '${name}', which is not configured`);
    if (hasNone(account)) return { id, plan: this.#unplanned, own };
    return { id, plan: name === undefined ? undefined : this.#plans[name], own };
  }

  #check(where: string, limits: AccountLimits): void {
    const unknown = limits.models.find(model => !this.#catalog.find(model));
    const problem =
      this.#problemOf(limits) ??
      (unknown === undefined ? undefined : `there is no model '${unknown}' in the catalog`);
    if (problem !== undefined) throw new Error(`rate-limit: ${where}: ${problem}`);
  }

  /** Why one of these limits would never be reached, if so. An account may have a limit on a model that has left the catalog. */
  #problemOf(limits: AccountLimits): string | undefined {
    if (this.#catalog.models.length > 0) return undefined;
    if (limits.models.length > 0) return 'limits on single models need a catalog';
    const onMoney = limits.all.find(limit => rowOf(limit).unit === 'nano_usd');
    return onMoney && `${onMoney.name} needs the prices of a catalog`;
  }
}

/** Whether an account has neither a plan nor limits of its own. */
const hasNone = ({ plan, limits }: Account): boolean =>
  plan === undefined && Object.keys(limits ?? {}).length === 0;
