import { usesOf } from '../account-view.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { columnsFor } from '../pages/requests.ts';
import { accountUsePanel } from '../pages/use-panel.ts';
import { html } from '../view/html.ts';
import { keyTable } from '../view/key-table.ts';
import { limitBars } from '../view/limit-bars.ts';
import { pageResponse, panel } from '../view/shell.ts';
import { emptyState, tableOf } from '../view/table.ts';

/** Keys that are shown; their page has all. */
const max_keys = 5;
/** Requests that are shown. */
const max_requests = 8;

/** The customer's account at a glance: spend, limits, latest requests, keys. */
export const overviewPage: Page = { name: '', get: shown };

async function shown(request: PageRequest): Promise<PageResponse> {
  const { context, scope } = request;
  const account = scope.account!;
  const { keys: keyRecords, ledger } = context.records.store;
  const usable_at_ms = context.clock.epoch_ms();
  const [spend, uses, keys, requests] = await Promise.all([
    accountUsePanel(request, account),
    usesOf(context, account),
    keyRecords.list({ account: account.id, usable_at_ms, sort: 'used', limit: max_keys }),
    ledger.list({ account: account.id, limit: max_requests }),
  ]);
  const keyList = keys.length === 0 ? noKeys : await keyTable(request, 'Active keys, last used first', keys);
  return pageResponse(request, {
    title: account.display_name || account.id,
    section: '',
    scripts: ['charts.js'],
    body: html`${spend}
${panel('limits', 'Limits', html`${account.plan !== undefined && html`<p class="muted">Plan ${account.plan}</p>`}${limitBars(uses, scope)}`)}
${panel('requests', 'Latest requests', html`${tableOf('Latest requests, newest first', columnsFor(scope), requests, noRequests)}<p class="pager"><a class="button" href="requests">All requests</a></p>`)}
${panel('keys', 'Active keys', html`${keyList}<p class="pager"><a class="button" href="keys">All keys</a></p>`)}`,
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
