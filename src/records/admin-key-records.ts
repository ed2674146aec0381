import type { Operator } from './audit-log.ts';
import type { OperatorRole } from './operator-role.ts';
import type { PagedRecords, PageQuery } from './page-query.ts';

/** A key of the Admin API, without its text, of which only the last characters are stored. */
export interface AdminKeyRecord {
  /** Its id. */
  readonly id: string;
  /** Who or what uses it: its name in the audit log. */
  readonly name: string;
  /** What it may be used for. */
  readonly role: OperatorRole;
  /** The last characters of its text. */
  readonly hint: string;
  /** Unix milliseconds at which it was made. */
  readonly created_ms: number;
  /** Unix milliseconds at which it ends; null for never. */
  readonly expires_ms: number | null;
  /** Unix milliseconds at which it was revoked; null if it is not. */
  readonly revoked_ms: number | null;
  /** When it was last used, to within a minute. */
  readonly last_used_ms: number | null;
}

/** A new key of the Admin API. */
export type NewAdminKey = Pick<AdminKeyRecord, 'name' | 'role' | 'expires_ms'>;

/** `search` is a part of the id or name. */
export interface AdminKeyQuery extends PageQuery {
  /** Leaves out what is revoked or has expired at this time. */
  readonly usable_at_ms?: number | undefined;
}

/** An admin key that was made. */
export interface MadeAdminKey {
  /** Its text, which is stored nowhere. */
  readonly key: string;
  /** What is kept of it. */
  readonly record: AdminKeyRecord;
}

/** Whether an admin key may have this name: 1 to 100 characters, none of them a control character, without space around it. */
export const isAdminKeyName = (text: string): boolean =>
  text !== '' && text.length <= 100 && text.isWellFormed() && !/\p{Cc}/u.test(text) && text.trim() === text;

/** The keys of the Admin API; lists begin with the newest. */
export interface AdminKeyRecords extends PagedRecords<AdminKeyRecord, AdminKeyQuery> {
  /** Throws NameTaken for the name of a key that can still be used, in any case. */
  create(key: NewAdminKey, operator: Operator): Promise<MadeAdminKey>;
  /** Ends a key for good; one that is revoked already stays as it is. Throws NotThere. */
  revoke(id: string, operator: Operator): Promise<AdminKeyRecord>;
  /** The key that has this digest, also a revoked one; undefined if there is none. */
  lookUp(digest: string): Promise<AdminKeyRecord | undefined>;
  /** Records when a key was last used; never sets the time back. */
  used(id: string, at_ms: number): Promise<void>;
}
