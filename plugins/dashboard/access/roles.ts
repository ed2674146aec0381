/** Who an operator can be at the dashboard, the most powerful first. */
export const roles = ['admin', 'operator', 'viewer'] as const;

/**
 * What a person may do. `admin`: everything. `operator`: changes accounts and keys, but neither sees nor sets amounts of money, and does not
 * see the audit log. `viewer`: sees what an admin sees, and changes nothing. `customer`: only the own account, at the portal.
 */
export type Role = (typeof roles)[number] | 'customer';

/** A person who uses the dashboard or the portal. */
export interface Person {
  /** The name in the audit log. */
  readonly actor: string;
  readonly role: Role;
  /** The account that a customer sees; for no other role. */
  readonly account?: string | undefined;
}

/** Whose load is counted together: the customers of an account, or one operator. */
export const callerOf = ({ role, account, actor }: Person): string => `${role} ${account ?? actor}`;

/** Whether people with this role see costs and limits in US dollars. */
export const seesMoney = (role: Role): boolean => role !== 'operator';

/** Whether people with this role see what providers said of failed attempts. */
export const seesProviderTexts = (role: Role): boolean => role === 'admin';

/** Whether people with this role may change accounts and keys. */
export const mayChange = (role: Role): boolean => role !== 'viewer';

/** Whether people with this role may invite customers, who see the money of their account. */
export const mayInvite = (role: Role): boolean => role === 'admin';

/** The name in the audit log of a person who uses the portal, by which customers are told from operators. */
export const customerName = (name: string): string => `${of_portal}${name}`;

/** The name of the customer whom the audit log names; undefined for everybody else. */
export const customerOf = (actor: string): string | undefined =>
  actor.startsWith(of_portal) ? actor.slice(of_portal.length) : undefined;

const of_portal = 'portal:';

/** The roles among `roles` that may. */
export const changers: readonly Role[] = roles.filter(mayChange);
