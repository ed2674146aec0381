import type { Operator } from './audit-log.ts';

/** The sign-in of a customer at the portal. */
export interface CustomerLogin {
  /** Unique, whatever its upper and lower case. */
  readonly name: string;
  /** Id of the account. */
  readonly account: string;
  /** `null` until the invitation is accepted. */
  readonly password_hash: string | null;
  /** Unix milliseconds at which it was made. */
  readonly created_ms: number;
  /** The end of an invitation that has not been accepted. */
  readonly invited_until_ms: number | null;
}

/** An invitation, by the hash of the token that only the customer has. */
export interface Invitation extends Pick<CustomerLogin, 'name' | 'account'> {
  /** Hash of its secret. */
  readonly digest: string;
  /** Unix milliseconds of its end. */
  readonly until_ms: number;
}

/** Called in the transaction of a change with the sign-in as it is, undefined for none; throws if it is not as it was seen. */
export type CustomerCheck = (now: CustomerLogin | undefined) => void;

/** Sign-ins of one account; more are refused. */
export const max_customers = 100;

/** Whether `text` may be the name of a sign-in: 1 to 128 characters, none of them a control character, without space around it. */
export const isCustomerName = (text: string): boolean =>
  text !== '' && text.length <= 128 && text.isWellFormed() && !/\p{Cc}/u.test(text) && text.trim() === text;

/** The sign-ins of customers beside those of the configuration. */
export interface CustomerLogins {
  /** Those of an account, by name. */
  list(account: string): Promise<CustomerLogin[]>;
  /** In any case of the name. */
  find(name: string): Promise<CustomerLogin | undefined>;
  /** Whom an invitation is for that can be accepted at this time. */
  invited(digest: string, at_ms: number): Promise<CustomerLogin | undefined>;
  /** Invites a customer, or the same one again: earlier invitations end, a password goes on working. Throws NameTaken. */
  invite(invitation: Invitation, operator: Operator, check?: CustomerCheck): Promise<void>;
  /** Sets the password of the customer who has this invitation, once. Undefined if it was accepted, has ended or is not known. */
  accept(
    digest: string,
    password_hash: string,
    from: Omit<Operator, 'actor'>,
    actorOf: (name: string) => string,
  ): Promise<CustomerLogin | undefined>;
  /** Changes a password; false if it was changed meanwhile. An invitation that is open ends. */
  changePassword(login: CustomerLogin, password_hash: string, operator: Operator): Promise<boolean>;
  /** Removes a sign-in of an account, with its sessions at all instances. */
  remove(
    login: Pick<CustomerLogin, 'name' | 'account'>,
    operator: Operator,
    check?: CustomerCheck,
  ): Promise<void>;
}
