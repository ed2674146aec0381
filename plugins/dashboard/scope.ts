import type { ExtensionContext } from '../../src/plugin.ts';
import { type Person, type Rights, rights } from './access/roles.ts';
import { type AccountView, findAccount } from './account-view.ts';
import { PageError } from './page-response.ts';

/** What the reader of a page sees and may do. Pages of operators and customers alike show what it names, and nothing else. */
export interface Scope extends Rights {
  /** The customer's own account: no page takes another from anywhere. Undefined for operators, who choose one. */
  readonly account?: AccountView | undefined;
}

/** The scope of a person who has signed in. Throws a PageError for customers of an account that no longer exists. */
export async function scopeOf(context: ExtensionContext, { role, account: id = '' }: Person): Promise<Scope> {
  if (role !== 'customer') return rights[role];
  const account = id === '' ? undefined : await findAccount(context, id);
  if (!account)
    throw new PageError(403, 'Your account no longer exists.', 'Ask the operator of this service.');
  const { sees, may } = rights.customer;
  return { account, sees, may: { ...may, change: may.change && account.disabled_ms === null } };
}
