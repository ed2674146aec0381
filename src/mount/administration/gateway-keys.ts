import type { PlanOptions } from '../../common/options.ts';
import type { ChangeOf } from '../../records/account-records.ts';
import { checkedKeyChange, checkKey } from '../../records/account-rules.ts';
import type { ExtensionContext } from '../../records/define-extension.ts';
import type { KeyChange, KeyQuery, KeyRecord, MadeKey } from '../../records/key-records.ts';
import type { KeyTags } from '../../records/key-tags.ts';
import { NotThere } from '../../records/record-errors.ts';
import { type ChangedBy, noticed, operatorNow, page_records } from './administrator.ts';

/** A key to be made. */
export interface KeyToCreate {
  /** The id of its account, of the records store or the configuration. */
  readonly account: string;
  /** Who or what uses it; at most 200 characters. */
  readonly name?: string;
  /** Unix milliseconds at which it ends; by default never. */
  readonly expires_ms?: number | null;
  /** Limits of this key alone, which hold beside those of its account. */
  readonly limits?: Omit<PlanOptions, 'models'>;
  /** The models that it may use, of those that its account may: ids, or beginnings with `*`. By default all of those. */
  readonly models?: readonly string[] | null;
  /** What its usage can be grouped by, of what the configuration lists. By default nothing. */
  readonly tags?: KeyTags;
  /** Keys of the account that may be usable at the same time, this one included; more are refused with TooManyKeys. */
  readonly max_usable?: number;
  /** Makes one key of several calls with the same nonce, such as those of a form that is sent twice: the later ones are refused with KeyExists. */
  readonly nonce?: string;
}

/** How a key is replaced. */
export interface KeyRotation extends ChangedBy {
  /** Milliseconds for which the old key goes on working. By default none. */
  readonly overlap_ms?: number;
}

/**
 * Keys of the records store; those of the configuration are not among them. This instance follows a change before its promise resolves,
 * others within 5 seconds. Changes reject with NotThere for a key that is not in the store, and with KeyEnded for one that has ended.
 */
export interface GatewayKeys {
  /** A page of keys, the newest first: 100 unless the query says otherwise. `after` is the id of the last one of the page before. */
  list(query?: Partial<KeyQuery>): Promise<KeyRecord[]>;
  /** A key by its id; undefined if there is none. */
  get(id: string): Promise<KeyRecord | undefined>;
  /** Makes a key. Its text is in the answer alone: the store keeps the SHA-256. Rejects with NotThere without its account. */
  create(key: KeyToCreate, by?: ChangedBy): Promise<MadeKey>;
  /** Sets what is given of a key, or what a function makes of it as it is now, and leaves the rest. */
  change(id: string, set: ChangeOf<KeyRecord, KeyChange>, by?: ChangedBy): Promise<KeyRecord>;
  /** Makes a key that replaces another, with its account, name, limits and lifetime. */
  rotate(id: string, by?: KeyRotation): Promise<MadeKey & { readonly old: KeyRecord }>;
  /** Ends a key for good; one that is revoked already stays as it is. */
  revoke(id: string, by?: ChangedBy): Promise<KeyRecord>;
}

/** The keys of the gateway that `context` is of. */
export function gatewayKeys(context: ExtensionContext): GatewayKeys {
  const { clock, configured } = context;
  const { keys, accounts } = context.records.store;
  return {
    list: ({ limit = page_records, ...query } = {}) => keys.list({ ...query, limit }),
    get: id => keys.find(id),
    async create({ name = '', expires_ms = null, limits = {}, ...rest }, by) {
      const key = { ...rest, name, expires_ms, limits: { ...limits } };
      checkKey(context, key, clock.epoch_ms());
      const { account } = key;
      if (!configured.findById(account) && !(await accounts.find(account)))
        throw new NotThere(`there is no account '${account}'`);
      return noticed(context, keys.create(key, operatorNow(clock, by)));
    },
    change(id, set, by) {
      const change = checkedKeyChange(context, set, clock.epoch_ms());
      return noticed(context, keys.change(id, change, operatorNow(clock, by)));
    },
    rotate: (id, { overlap_ms = 0, ...by } = {}) =>
      noticed(context, keys.rotate(id, overlap_ms, operatorNow(clock, by))),
    revoke: (id, by) => noticed(context, keys.revoke(id, operatorNow(clock, by))),
  };
}
