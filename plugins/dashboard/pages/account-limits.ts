import { type AccountView, usesOf } from '../account-view.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import type { RefusedForm } from '../view/edited-fields.ts';
import { muted } from '../view/format.ts';
import { html } from '../view/html.ts';
import { limitBars } from '../view/limit-bars.ts';
import { panel } from '../view/shell.ts';
import { changeAccount, newLimits, overridesPanel } from './account-forms.ts';
import { accountOf, accountResponse } from './account-tabs.ts';

/** What an account has used of each limit and when that is free again; operators change its limits here. */
export const limitsPage: Page = {
  name: 'limits',
  get: async request => shown(request, await accountOf(request)),
  post: request => changeAccount(request, { changeOf: newLimits, shown }),
};

async function shown(
  request: PageRequest,
  account: AccountView,
  refused?: RefusedForm,
): Promise<PageResponse> {
  const { context, scope } = request;
  return accountResponse(request, account, {
    tab: 'limits',
    beside: account.plan !== undefined && muted(`Plan ${account.plan}`),
    fault: refused?.fault,
    status: refused?.status,
    body: html`${panel('limits', 'Current usage', limitBars(await usesOf(context, account), scope))}
<p class="muted">They hold for all keys together. A request beyond one is answered 429, and says when to try again.</p>
${!scope.account && overridesPanel(request, account, refused)}`,
  });
}
