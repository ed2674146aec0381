import type { ExtensionContext } from '../../records/define-extension.ts';
import { type LimitState, limitStates } from '../../records/limit-states.ts';
import { limitedAccount, limitedKey } from '../../records/limited-accounts.ts';
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
  return {
    sum: ({ by = [], ...query } = {}) => store.usage.sum({ ...query, by }),
    limits: async id => limitStates(context, await limitedAccount(context, id)),
    limitsOfKey: async id => limitStates(context, await limitedKey(context, id)),
  };
}
