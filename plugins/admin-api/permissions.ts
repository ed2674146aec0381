import type { OperatorRole } from '../../src/plugin.ts';

/** Who may use a route, by what it asks for. */
export const permissions = {
  /** Reads what every role sees; amounts of money are left out for operators. */
  read: ['admin', 'operator', 'viewer'],
  /** Reads amounts of money, or who did what: nothing for operators. */
  audit: ['admin', 'viewer'],
  /** Changes accounts, keys and the like. */
  change: ['admin', 'operator'],
  /** Changes who may do what, or amounts of money. */
  administer: ['admin'],
} as const satisfies Record<string, readonly OperatorRole[]>;

export type Permission = keyof typeof permissions;

export const isAllowed = (role: OperatorRole, permission: Permission): boolean =>
  (permissions[permission] as readonly OperatorRole[]).includes(role);

/** Whether a role sees and sets amounts of money. */
export const seesMoney = (role: OperatorRole): boolean => isAllowed(role, 'audit');
