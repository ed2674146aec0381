import type { Page } from '../page-request.ts';
import { jsonResponse } from '../page-response.ts';
import { accountsLike } from '../view/account-field.ts';

/** What a field for an account offers while it is typed in. By POST, because a secret may be pasted. */
export const accountsLikePage: Page = {
  name: 'accounts-like',
  changesNothing: true,
  post: async ({ context, form }) => jsonResponse(await accountsLike(context, form.get('part') ?? '')),
};
