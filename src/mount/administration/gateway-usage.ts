import type { ExtensionContext } from '../../records/define-extension.ts';
import { accountsAbove, type LimitState, limitStates } from '../../records/limit-states.ts';
import { NotThere } from '../../records/record-errors.ts';
import type { UsageQuery, UsageSum } from '../../records/usage-records.ts';

/** What accounts have used, and what is left of their limits. */
export interface GatewayUsage {
  /** What exchanges add up to, by the groups of the query; without a query all together. Costs are exact decimals. */
  sum(query?: Partial<UsageQuery>): Promise<UsageSum[]>;
  /**
   * The use of every limit of an account, as all instances together have counted it; empty without any. Rejects with NotThere for an unknown
   * account, and if the state store does not answer.
   */
  limits(account: string): Promise<LimitState[]>;
  /** The same of a key: the limits of its account, and its own. */
  limitsOfKey(id: string): Promise<LimitState[]>;
}

/** The usage of the gateway that `context` is of. */
export function gatewayUsage(context: ExtensionContext): GatewayUsage {
  const { store } = context.records;
  const accountOf = async (id: string) => {
    const found = context.configured.findById(id) ?? (await store.accounts.find(id));
    const account = found ?? context.application?.lastGiven(id);
    if (!account) throw new NotThere(`there is no account '${id}'`);
    const { plan, limits } = account;
    const parent = 'parent' in account ? account.parent : context.settings.accounts[id]?.parent;
    return { id, plan, limits, parents: await accountsAbove(context, parent) };
  };
  return {
    sum: ({ by = [], ...query } = {}) => store.usage.sum({ ...query, by }),
    limits: async id => limitStates(context, await accountOf(id)),
    async limitsOfKey(key_id) {
      const key = await store.keys.find(key_id);
      if (!key) throw new NotThere(`there is no key '${key_id}'`);
      return limitStates(context, { ...(await accountOf(key.account)), key_id, key_limits: key.limits });
    },
  };
}
