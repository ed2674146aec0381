import { type Uses, usesOf } from '../account-view.ts';
import type { Page } from '../page-request.ts';
import { muted } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { limitBars } from '../view/limit-bars.ts';
import { panel } from '../view/shell.ts';
import { portalPage, portalResponse } from './portal-page.ts';

/** What the account has used of each limit, and when that is free again. */
export const limitsPage: Page = portalPage({
  name: 'limits',
  get: async request => {
    const { account, context } = request;
    const uses = await usesOf(context, account);
    return portalResponse(request, {
      title: 'Limits',
      section: 'limits',
      beside: account.plan !== undefined && muted(`Plan ${account.plan}`),
      body: html`${panel('limits', 'Current usage', ownLimits(uses))}
<p class="muted">They hold for all keys together. A request beyond one is answered 429, and says when to try again.</p>`,
    });
  },
});

/** The bars, or why there are none. */
export const ownLimits = (uses: Uses): Html =>
  typeof uses === 'string' ? html`<p class="muted">${withoutBars[uses]}</p>` : limitBars(uses, true);

/** Why there is nothing to show. */
const withoutBars = {
  'no stage': 'Your account is not limited.',
  'no limits': 'Your account is not limited.',
  'no plan': 'Your plan no longer exists, so your requests are refused. Ask the operator of this service.',
  unknown: 'Your usage is not known at the moment. Load the page again.',
} as const satisfies Record<Extract<Uses, string>, string>;
