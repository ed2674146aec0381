import type { LimitOverrides } from '../../common/options.ts';
import type { AccountChange, AccountQuery, AccountRecord, ChangeOf } from '../../records/account-records.ts';
import {
  checkedAccountChange,
  checkIsStored,
  checkNewAccount,
  checkParent,
} from '../../records/account-rules.ts';
import type { ExtensionContext } from '../../records/define-extension.ts';
import { creditOf } from '../../records/limit-states.ts';
import { type ChangedBy, noticed, operatorNow, page_records } from './administrator.ts';

/** An account to be made. */
export interface AccountToCreate {
  /** Its name: letters, digits and `_ . @ : + -`, at most 128. */
  readonly id: string;
  /** A plan of the configuration. By default none. */
  readonly plan?: string | null;
  /** Limits in place of those of the plan, name by name; `null` lifts one. */
  readonly limits?: LimitOverrides;
  /** Shown beside the id; at most 100 characters. */
  readonly display_name?: string;
  /** Mail addresses of its people, who are told of its limits where notices are sent to customers; at most 20. */
  readonly contacts?: readonly string[];
  /** An account, of the store or the configuration, whose limits hold for it as well. By default none. */
  readonly parent?: string | null;
  /** The models that it may use: ids, or beginnings with `*`. By default all. */
  readonly models?: readonly string[] | null;
}

/**
 * Accounts of the records store; those of the configuration are not among them. This instance follows a change before its promise resolves,
 * others within 5 seconds. Changes reject with RecordRefused for values with which an account could not be served, and with NotThere for an
 * account that is not in the store.
 */
export interface GatewayAccounts {
  /** A page of accounts by id: the first 100 unless the query says otherwise. `after` is the id of the last one of the page before. */
  list(query?: Partial<AccountQuery>): Promise<AccountRecord[]>;
  /** An account by its id; undefined if there is none. */
  get(id: string): Promise<AccountRecord | undefined>;
  /** Makes an account. Rejects with AlreadyThere if the name is taken, in the configuration or the store. */
  create(account: AccountToCreate, by?: ChangedBy): Promise<AccountRecord>;
  /** Sets what is given of an account, or what a function makes of it as it is now, and leaves the rest. */
  change(id: string, set: ChangeOf<AccountRecord, AccountChange>, by?: ChangedBy): Promise<AccountRecord>;
  /** Has all requests of an account refused. */
  disable(id: string, by?: ChangedBy): Promise<AccountRecord>;
  /** Admits the requests of an account again. */
  enable(id: string, by?: ChangedBy): Promise<AccountRecord>;
  /** Adds dollars of prepaid credit to the `usd_total` of an account. */
  topUp(id: string, amount_usd: string, by?: ChangedBy): Promise<AccountRecord>;
}

/** The accounts of the gateway that `context` is of. */
export function gatewayAccounts(context: ExtensionContext): GatewayAccounts {
  const { accounts } = context.records.store;
  const { clock } = context;
  return {
    list: ({ limit = page_records, ...query } = {}) => accounts.list({ ...query, limit }),
    get: id => accounts.find(id),
    async create({ id, plan = null, limits = {}, ...given }, by) {
      const { display_name = '', contacts = [], parent = null, models = null } = given;
      const account = { id, plan, limits: { ...limits }, display_name, contacts, parent, models };
      checkNewAccount(context, account);
      await checkParent(context, accounts, parent);
      return noticed(context, accounts.create(account, operatorNow(clock, by)));
    },
    async change(id, set, by) {
      checkIsStored(context, id);
      if (typeof set === 'object') await checkParent(context, accounts, set.parent);
      const change = checkedAccountChange(context, set);
      return noticed(context, accounts.change(id, change, operatorNow(clock, by)));
    },
    async disable(id, by) {
      checkIsStored(context, id);
      return noticed(context, accounts.disable(id, operatorNow(clock, by)));
    },
    async enable(id, by) {
      checkIsStored(context, id);
      return noticed(context, accounts.enable(id, operatorNow(clock, by)));
    },
    async topUp(id, amount_usd, by) {
      checkIsStored(context, id);
      return noticed(context, accounts.topUp(id, creditOf(context, amount_usd), operatorNow(clock, by)));
    },
  };
}
