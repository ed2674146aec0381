import { usesOf } from '../account-view.ts';
import type { Page } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { spendPanel } from '../pages/account-spend.ts';
import { html } from '../view/html.ts';
import { keyTable, usesOfKeys } from '../view/key-table.ts';
import { panel } from '../view/shell.ts';
import { emptyState, tableOf } from '../view/table.ts';
import { ofPortal } from './keys.ts';
import { ownLimits } from './limits.ts';
import { type PortalRequest, portalPage, portalResponse } from './portal-page.ts';
import { requestColumns } from './requests.ts';

/** Keys that are shown; their page has all. */
const max_keys = 5;
/** Requests that are shown. */
const max_requests = 8;

/** The account at a glance: spend of this month, limits, keys. */
export const overviewPage: Page = portalPage({ name: '', get: shown });

async function shown(request: PortalRequest): Promise<PageResponse> {
  const { account, context } = request;
  const now_ms = context.clock.epoch_ms();
  const { keys: keyRecords } = context.records.store;
  const [spend, uses, keys, requests] = await Promise.all([
    spendPanel(request, account),
    usesOf(context, account),
    keyRecords.list({ account: account.id, usable_at_ms: now_ms, sort: 'used', limit: max_keys }),
    context.records.store.ledger.list({ account: account.id, limit: max_requests }),
  ]);
  const keyUses = await usesOfKeys(request, keys);
  return portalResponse(request, {
    title: account.display_name || account.id,
    section: '',
    scripts: ['charts.js'],
    body: html`${spend}
${panel('limits', 'Limits', html`${account.plan !== undefined && html`<p class="muted">Plan ${account.plan}</p>`}${ownLimits(uses)}`)}
${panel('requests', 'Latest requests', html`${tableOf('Latest requests, newest first', requestColumns, requests, noRequests)}<p class="pager"><a class="button" href="requests">All requests</a></p>`)}
${panel('keys', 'Active keys', html`${keys.length === 0 ? noKeys : keyTable('Active keys, last used first', keys, { now_ms, uses: keyUses, ...ofPortal })}<p class="pager"><a class="button" href="keys">All keys</a></p>`)}`,
  });
}

const noRequests = emptyState(
  'No requests yet.',
  html`<a href="examples">Examples</a> show how to send the first.`,
);
const noKeys = emptyState(
  'There are no active keys.',
  html`<a href="keys">Issue one</a> to send your first request.`,
);
