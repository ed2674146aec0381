import { usesOf } from '../account-view.ts';
import type { Page } from '../page-request.ts';
import { muted } from '../view/format.ts';
import { html } from '../view/html.ts';
import { limitBars } from '../view/limit-bars.ts';
import { pageResponse, panel } from '../view/shell.ts';

/** What the customer's account has used of each limit, and when that is free again. */
export const limitsPage: Page = {
  name: 'limits',
  get: async request => {
    const { context, scope } = request;
    const account = scope.account!;
    return pageResponse(request, {
      title: 'Limits',
      section: 'limits',
      beside: account.plan !== undefined && muted(`Plan ${account.plan}`),
      body: html`${panel('limits', 'Current usage', limitBars(await usesOf(context, account), scope))}
<p class="muted">They hold for all keys together. A request beyond one is answered 429, and says when to try again.</p>`,
    });
  },
};
