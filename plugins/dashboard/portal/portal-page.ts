import type { KeyRecord } from '../../../src/plugin.ts';
import { type AccountView, findAccount } from '../account-view.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { timeOf } from '../view/format.ts';
import { html } from '../view/html.ts';
import { type PageParts, pageResponse } from '../view/shell.ts';

/** One request of a customer. */
export interface PortalRequest extends PageRequest {
  /** The customer's own: no page takes an account from anywhere else. */
  readonly account: AccountView;
}

type Handler = (request: PortalRequest) => PageResponse | undefined | Promise<PageResponse | undefined>;

interface PortalPage extends Omit<Page, 'get' | 'post' | 'readers'> {
  readonly get?: Handler;
  /** Called for customers of accounts that are not disabled only, unless it changes nothing. */
  readonly post?: Handler;
}

/** A page for customers, with the account of the session. */
export function portalPage({ get, post, changesNothing, ...page }: PortalPage): Page {
  return {
    ...page,
    readers: ['customer'],
    ...(get && { get: async request => get(await ofCustomer(request)) }),
    ...(post && {
      post: async request => {
        const asked = await ofCustomer(request);
        if (asked.account.disabled_ms !== null && !changesNothing)
          throw new PageError(403, 'Your account is disabled.', 'You can look at it, and change nothing.');
        return post(asked);
      },
    }),
  };
}

async function ofCustomer(request: PageRequest): Promise<PortalRequest> {
  const { account: id = '' } = request.session;
  const account = id && (await findAccount(request.context, id));
  if (account) return { ...request, account };
  throw new PageError(403, 'Your account no longer exists.', 'Ask the operator of this service.');
}

/** A page of the portal, which says on top if the account is disabled. */
export function portalResponse(request: PortalRequest, parts: PageParts): PageResponse {
  const { disabled_ms } = request.account;
  if (disabled_ms === null) return pageResponse(request, parts);
  const notice = html`<p class="notice bad">Your account is disabled since ${timeOf(disabled_ms)}: its requests are answered 403, and nothing can be changed.</p>`;
  return pageResponse(request, { ...parts, body: html`${notice}${parts.body}` });
}

/** Whether customers may change the keys of their account. An application that keeps accounts itself would not find them by a key. */
export const mayHoldKeys = ({ source }: AccountView): boolean => source !== 'application';

/** The key that the address names. Throws the same PageError for the key of another account as for one that does not exist. */
export async function ownKey({ account, context, query }: PortalRequest): Promise<KeyRecord> {
  const found = await context.records.store.keys.find(query.get('id') ?? '');
  if (found?.account === account.id) return found;
  throw new PageError(404, 'There is no such key.', 'Look for it in the list of your keys.');
}
