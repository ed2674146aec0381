import type { LimitRule } from '../gateway/limits/plan-limits.ts';
import type { Operator } from './audit-log.ts';
import type { PagedRecords, PageQuery } from './page-query.ts';

/** An account of the store. */
export interface AccountRecord {
  /** Its id. */
  readonly id: string;
  /** A plan of the configuration. */
  readonly plan: string | null;
  /** Limits in place of those of the plan, as in the configuration. */
  readonly limits: Readonly<Record<string, unknown>>;
  /** Unix milliseconds at which it was made. */
  readonly created_ms: number;
  /** Shown beside the id; empty for none. */
  readonly display_name: string;
  /** Mail addresses of its people, who are told of its limits. */
  readonly contacts: readonly string[];
  /** Id of the account whose limits hold for it as well; `null` for none. */
  readonly parent: string | null;
  /** The models that it may use: ids, or beginnings with `*`; `null` for all. */
  readonly models: readonly string[] | null;
  /** When it was disabled: its requests are refused since; `null` while it is enabled. */
  readonly disabled_ms: number | null;
}

/** A new account. */
export interface NewAccount extends Pick<AccountRecord, 'id' | 'plan' | 'limits'> {
  /** Shown beside the id. */
  readonly display_name?: string;
  /** Mail addresses of its people. */
  readonly contacts?: readonly string[];
  /** An account of the store or of the configuration. */
  readonly parent?: string | null;
  /** The models that it may use; `null` for all. */
  readonly models?: readonly string[] | null;
}

/** What can be changed of an account. */
export type AccountChange = Partial<
  Pick<AccountRecord, 'plan' | 'limits' | 'display_name' | 'contacts' | 'parent' | 'models'>
>;

/** `search` is a part of the id or the display name. */
export interface AccountQuery extends PageQuery {
  /** Only those with this plan. */
  readonly plan?: string | undefined;
}

/** Whether an account of the store may be called `id`: letters, digits and `_ . @ : + -`, at most 128 characters. */
export const isAccountName = (id: string): boolean => /^[\p{L}\p{N}][\p{L}\p{N}_.@:+-]{0,127}$/u.test(id);

/** Whether `text` may be a display name: at most 100 characters, without control characters and space around it. */
export const isDisplayName = (text: string): boolean =>
  text.length <= max_display_name && text.isWellFormed() && !/\p{Cc}/u.test(text) && text.trim() === text;

/** Whether `text` may be the mail address of a contact: one address and nothing beside it, so that it cannot add a header or a receiver to a mail. */
export const isContact = (text: string): boolean =>
  text.length <= 254 && /^[^\s\p{C}<>()[\]\\,;:"@]+@[^\s\p{C}<>()[\]\\,;:"@]+$/u.test(text);

/** Contacts of an account. */
export const max_contacts = 20;

/** Characters of a display name. */
export const max_display_name = 100;

/** The one of `names` that differs from `id` in upper and lower case at most. */
export const sameName = (names: readonly string[], id: string): string | undefined =>
  names.find(name => name.toLowerCase() === id.toLowerCase());

/** What is set of a record: fields, or what a function makes of the record as it is in the transaction; it may throw, and nothing is set. */
export type ChangeOf<R, C> = C | ((now: R) => C);

/** Is told the record as it is in the transaction of a change; it may throw, and nothing is changed. */
export type CheckOf<R> = (now: R) => void;

/** Money that is added to the `usd_total` of an account. */
export interface Credit {
  /** Dollars above 0, with at most nine decimal places. */
  readonly amount_usd: string;
  /** Why, for the audit log. */
  readonly reason?: string | undefined;
  /** The `usd_total` of a plan, with which that of an account begins that has none of its own. */
  ofPlan(plan: string | null): LimitRule | undefined;
}

/** What an account has done lately. */
export interface AccountActivity {
  /** Its id. */
  readonly id: string;
  /** Its keys of the store that can be used, of which at most 1000 are counted. */
  readonly active_keys: number;
  /** Unix milliseconds at which its last request of the ledger began; `null` without one. */
  readonly last_used_ms: number | null;
}

/** The accounts of a records store, by id. */
export interface AccountRecords extends PagedRecords<AccountRecord, AccountQuery> {
  /** The accounts that have these ids, in no order. */
  lookUp(ids: readonly string[]): Promise<AccountRecord[]>;
  /** The activity of these accounts, one at least, wherever they are kept, in no order. A store may do without. */
  activity?(ids: readonly string[], at_ms: number): Promise<AccountActivity[]>;
  /** The accounts that are below these, which are one at least, each with the one that is `above` it: once for each of those. */
  below(ids: readonly string[]): Promise<{ readonly id: string; readonly above: string }[]>;
  /**
   * Throws AlreadyThere, also for an id that differs from another's in upper and lower case only, and RecordRefused for a parent that cannot
   * be: one that the account is above itself, or that has two accounts above it.
   */
  create(account: NewAccount, operator: Operator): Promise<AccountRecord>;
  /** Sets what is given, or what `set` makes of the account as it is in this transaction, and leaves the rest. Throws NotThere, and RecordRefused as `create` does. */
  change(id: string, set: ChangeOf<AccountRecord, AccountChange>, operator: Operator): Promise<AccountRecord>;
  /** Has all requests of an account refused; one that is disabled already stays as it is. Throws NotThere. */
  disable(id: string, operator: Operator, check?: CheckOf<AccountRecord>): Promise<AccountRecord>;
  /** Admits the requests of an account again. Throws NotThere. */
  enable(id: string, operator: Operator, check?: CheckOf<AccountRecord>): Promise<AccountRecord>;
  /**
   * Adds to the `usd_total` of an account, in one step. Where neither the account nor its plan has one, it begins with what the account and
   * all below it have used, so that the credit is for what comes. Throws NotThere, and RecordRefused for what is no amount.
   */
  topUp(id: string, credit: Credit, operator: Operator): Promise<AccountRecord>;
}
