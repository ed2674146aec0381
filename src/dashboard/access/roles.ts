/** What people may do at the dashboard, the most first. */
export const roles = ['admin', 'operator', 'viewer'] as const;

/**
 * `admin` may do everything. `operator` may change accounts and keys, but neither sees nor sets amounts of money, and sees no sign-ins of
 * others. `viewer` may see what an admin sees and change nothing.
 */
export type Role = (typeof roles)[number];

/** Whether people with this role see costs and limits in US dollars. */
export const seesMoney = (role: Role): boolean => role !== 'operator';

/** Whether people with this role may change accounts and keys. */
export const mayChange = (role: Role): boolean => role !== 'viewer';
