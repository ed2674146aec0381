import type { LedgerQuery, ListedRow } from '../../stores/records/ledger-records.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { linkOf, muted, numberOf, secondOf, secondsOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { listPage } from '../view/pager.ts';
import { endOf } from '../view/request-end.ts';
import { inMemoryNotice, pageResponse } from '../view/shell.ts';
import { type Column, emptyState, tableOf } from '../view/table.ts';
import { dollars } from '../view/usage-table.ts';

/** Requests that an upstream was asked for, newest first. */
export const requestsPage: Page = { name: 'requests', get: listed };

async function listed(request: PageRequest): Promise<PageResponse> {
  const { context, query } = request;
  const account = query.get('account') ?? '';
  const { ledger } = context.records.store;
  const { rows, pager } = await listPage(
    request,
    ({ after, limit }) => ledger.list({ account: account || undefined, after: rowAfter(after), limit }),
    ({ started_ms, id }) => `${started_ms}_${id}`,
  );
  return pageResponse(request, {
    title: 'Requests',
    section: 'requests',
    body: html`${inMemoryNotice(context)}
${searchForms(account)}
<section class="panel" aria-label="List of requests">
${tableOf('Requests, newest first', columns, rows, nothing(account))}
${pager()}
</section>
<p class="muted">Requests that were refused before an upstream was asked are counted under <a href="usage">Usage</a>; the log has each of them.</p>`,
  });
}

/** The last row of the page before, from its link; undefined for anything else. */
function rowAfter(after: string | undefined): LedgerQuery['after'] {
  const [, started_ms, id] = /^(\d{1,15})_(.{1,100})$/.exec(after ?? '') ?? [];
  return id === undefined ? undefined : { started_ms: Number(started_ms), id };
}

function searchForms(account: string): Html {
  return html`<div class="row panel">
<form method="get" action="request" class="row" role="search" aria-label="Find one request">
<label>Request id <input name="id" placeholder="x-request-id of the reply" autocomplete="off" spellcheck="false" required></label>
<button class="primary">Find</button>
</form>
<form method="get" action="requests" class="row" role="search" aria-label="Requests of one account">
<label>Account <input name="account" value="${account}" placeholder="all" autocomplete="off" spellcheck="false"></label>
<button>Show</button>
</form>
</div>`;
}

const columns: readonly Column<ListedRow>[] = [
  {
    title: 'Time (UTC)',
    cell: ({ started_ms, request_id }) =>
      html`<a href="${linkOf('request', { id: request_id })}">${secondOf(started_ms)}</a>`,
  },
  {
    title: 'Account',
    cell: ({ account }) => html`<a href="${linkOf('account', { id: account })}">${account}</a>`,
    isName: true,
  },
  { title: 'Model', cell: ({ model }) => model ?? muted('none'), isName: true },
  { title: 'Provider', cell: ({ provider }) => provider ?? muted('none'), isName: true },
  { title: 'End', cell: endOf },
  { title: 'First token', cell: ({ first_token_ms }) => secondsOf(first_token_ms), isNumber: true },
  { title: 'Duration', cell: ({ duration_ms }) => secondsOf(duration_ms), isNumber: true },
  { title: 'Tokens in', cell: ({ prompt_tokens }) => numberOf(prompt_tokens), isNumber: true },
  { title: 'Tokens out', cell: ({ completion_tokens }) => numberOf(completion_tokens), isNumber: true },
  { title: 'Cost', cell: ({ cost_usd }) => dollars(cost_usd), isNumber: true },
];

const nothing = (account: string): Html =>
  account === ''
    ? emptyState('There are no requests yet.', 'They appear here seconds after they end.')
    : emptyState(
        `The account “${account}” has no requests.`,
        html`<a href="requests">Show the requests of all accounts</a>`,
      );
