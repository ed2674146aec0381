/** Roles of those who operate a gateway, the most powerful first. */
export const operatorRoles = ['admin', 'operator', 'viewer'] as const;

/**
 * What an operator may do. `admin`: everything. `operator`: changes accounts and keys, but neither sees nor sets amounts of money, and does
 * not see the audit log. `viewer`: sees what an admin sees but margins, and changes nothing.
 */
export type OperatorRole = (typeof operatorRoles)[number];
