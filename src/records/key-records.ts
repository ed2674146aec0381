import type { AccountRecord, ChangeOf, CheckOf } from './account-records.ts';
import type { Operator } from './audit-log.ts';
import type { KeyTags } from './key-tags.ts';
import type { PagedRecords, PageQuery } from './page-query.ts';

/** A key of the store, without its text, of which only the last characters are stored. */
export interface KeyRecord {
  /** Its id. */
  readonly id: string;
  /** Id of the account. */
  readonly account: string;
  /** Its name. */
  readonly name: string;
  /** The last characters of its text. */
  readonly hint: string;
  /** Limits of this key, as in a plan but without models; they hold beside those of its account. */
  readonly limits: Readonly<Record<string, unknown>>;
  /** The models that it may use, of those that its account may: ids, or beginnings with `*`; `null` for all of those. */
  readonly models: readonly string[] | null;
  /** What its usage can be grouped by, of what the configuration lists. */
  readonly tags: KeyTags;
  /** Unix milliseconds at which it was made. */
  readonly created_ms: number;
  /** Unix milliseconds at which it ends; null for never. */
  readonly expires_ms: number | null;
  /** Unix milliseconds at which it was revoked; null if it is not. */
  readonly revoked_ms: number | null;
  /** To within half a minute, since uses are written beside the requests. */
  readonly last_used_ms: number | null;
}

/** Characters of a key's name. */
export const max_key_name = 200;

/** Whether a key may have this name: at most 200 characters, none of them a control character. */
export const isKeyName = (text: string): boolean =>
  text.length <= max_key_name && text.isWellFormed() && !/\p{Cc}/u.test(text);

/** `search` is a part of the id, name, account or hint. */
export interface KeyQuery extends PageQuery {
  /** Id of the account. */
  readonly account?: string | undefined;
  /** Leaves out what is revoked or has expired at this time. */
  readonly usable_at_ms?: number | undefined;
  /** The newest first, or those used last, or by name. */
  readonly sort?: 'newest' | 'used' | 'name' | undefined;
}

/** What a lookup finds of a key, with its account's row if the store has one. */
export interface FoundKey
  extends Pick<KeyRecord, 'id' | 'account' | 'expires_ms' | 'revoked_ms' | 'limits' | 'models'> {
  /** Hash of its secret. */
  readonly digest: string;
  /** The row of its account; undefined if the store has none. */
  readonly stored: Pick<AccountRecord, 'plan' | 'limits' | 'disabled_ms' | 'parent' | 'models'> | undefined;
}

/** What can be changed of a key. */
export type KeyChange = Partial<Pick<KeyRecord, 'name' | 'expires_ms' | 'limits' | 'models' | 'tags'>>;

/** End of a key that replaces `old` at this time: it lasts as long as that was to last. */
export const rotatedExpiry = (
  { created_ms, expires_ms }: Pick<KeyRecord, 'created_ms' | 'expires_ms'>,
  at_ms: number,
): number | null => (expires_ms === null ? null : at_ms + expires_ms - created_ms);

/** A new key. */
export interface NewKey extends Pick<KeyRecord, 'account' | 'name' | 'expires_ms'>, KeyOptions {
  /** Limits in place of those of its plan. */
  readonly limits?: KeyRecord['limits'];
  /** The models that it may use; by default all of its account's. */
  readonly models?: KeyRecord['models'];
  /** Its tags; by default none. */
  readonly tags?: KeyTags;
}

/** How a key is made. */
export interface KeyOptions {
  /** Names the form that makes the key: a second key with the same nonce is refused with KeyExists, at every instance. */
  readonly nonce?: string | undefined;
  /** Keys of the account that may be usable at the same time, this one included: more are refused with TooManyKeys. */
  readonly max_usable?: number | undefined;
}

/** How a key is replaced. */
export interface RotateOptions extends KeyOptions {
  /** Told the key that is replaced. */
  readonly check?: CheckOf<KeyRecord> | undefined;
}

/** A key that was made; `key` is its text, which is stored nowhere. */
export interface MadeKey {
  readonly key: string;
  readonly record: KeyRecord;
}

/** A key that was made elsewhere, of which only the hash is known. */
export interface ImportedKey
  extends Pick<KeyRecord, 'account' | 'name'>,
    Partial<Pick<KeyRecord, 'hint' | 'expires_ms' | 'limits' | 'models' | 'tags'>> {
  /** SHA-256 of its text, 64 hexadecimal digits in lower case. */
  readonly digest: string;
}

/** What an import has done. */
export interface KeyImport {
  /** Keys that are new. */
  readonly imported: number;
  /** Keys that were here already. */
  readonly known: number;
}

/** The keys of a records store; lists begin with the newest unless sorted otherwise. */
export interface KeyRecords extends PagedRecords<KeyRecord, KeyQuery> {
  /** Throws KeyExists and TooManyKeys. */
  create(key: NewKey, operator: Operator): Promise<MadeKey>;
  /**
   * Makes a key in place of a usable one, for its account, by its name, with its limits, models and tags. The old one expires after `overlap_ms`, or at
   * its own time if that is earlier. The new one lasts as long as the old one was to last. Throws NotThere, KeyEnded, KeyExists and
   * TooManyKeys.
   */
  rotate(
    id: string,
    overlap_ms: number,
    operator: Operator,
    options?: RotateOptions,
  ): Promise<MadeKey & { readonly old: KeyRecord }>;
  /**
   * Sets what is given of a usable key, or what `change` makes of it, and leaves the rest; writes nothing if it is so already. Throws NotThere
   * and KeyEnded.
   */
  change(id: string, change: ChangeOf<KeyRecord, KeyChange>, operator: Operator): Promise<KeyRecord>;
  /** Revokes a key; one that is revoked already stays as it is. Throws NotThere. */
  revoke(id: string, operator: Operator, check?: CheckOf<KeyRecord>): Promise<KeyRecord>;
  /** The same for several keys, all or none. */
  revokeAll(ids: readonly string[], operator: Operator): Promise<KeyRecord[]>;
  /**
   * Takes keys that were made elsewhere, all or none; those that are here already, also revoked ones, stay as they are. Throws RecordRefused
   * for a key that another account has. A store may do without.
   */
  import?(keys: readonly ImportedKey[], operator: Operator): Promise<KeyImport>;
  /** The keys of these ids, in no order; without those that are not there. */
  named(
    ids: readonly string[],
  ): Promise<Pick<KeyRecord, 'id' | 'account' | 'name' | 'hint' | 'limits' | 'tags'>[]>;
  /** The keys that have these digests, revoked ones included. */
  lookUp(digests: readonly string[]): Promise<FoundKey[]>;
  /** Records when keys were last used, by id; never sets a time back. */
  used(times: ReadonlyMap<string, number>): Promise<void>;
}
