import type { KeyRecord } from '../../../src/plugin.ts';
import type { AccountView } from '../account-view.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';

/** One request of a customer. */
export interface PortalRequest extends PageRequest {
  /** The customer's own: no page takes an account from anywhere else. */
  readonly account: AccountView;
}

type Handler = (request: PortalRequest) => PageResponse | undefined | Promise<PageResponse | undefined>;

interface PortalPage extends Omit<Page, 'get' | 'post' | 'readers'> {
  readonly get?: Handler;
  readonly post?: Handler;
}

/** A page for customers, with the account of the session. */
export const portalPage = ({ get, post, ...page }: PortalPage): Page => ({
  ...page,
  ...(get && { get: request => get(ofCustomer(request)) }),
  ...(post && { post: request => post(ofCustomer(request)) }),
});

const ofCustomer = (request: PageRequest): PortalRequest => ({ ...request, account: request.scope.account! });

export { pageResponse as portalResponse } from '../view/shell.ts';

/** Whether customers may change the keys of their account. An application that keeps accounts itself would not find them by a key. */
export const mayHoldKeys = ({ source }: AccountView): boolean => source !== 'application';

/** The key that the address names. Throws the same PageError for the key of another account as for one that does not exist. */
export async function ownKey({ account, context, query }: PortalRequest): Promise<KeyRecord> {
  const found = await context.records.store.keys.find(query.get('id') ?? '');
  if (found?.account === account.id) return found;
  throw new PageError(404, 'There is no such key.', 'Look for it in the list of your keys.');
}
