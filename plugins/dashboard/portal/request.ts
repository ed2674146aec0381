import type { AttemptRow, LedgerRow } from '../../../src/plugin.ts';
import type { Page } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { idOf, modelOf, reasonOf, requestParts, requestUse } from '../pages/request.ts';
import { linkOf, muted, secondOf, secondsOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { endOf } from '../view/request-end.ts';
import { type Column, emptyState, tableOf } from '../view/table.ts';
import { type PortalRequest, portalPage, portalResponse } from './portal-page.ts';

/** One request of the account, without what it is served by. */
export const requestPage: Page = portalPage({ name: 'request', get: shown });

async function shown(request: PortalRequest): Promise<PageResponse> {
  const { account, context } = request;
  const id = idOf(request);
  const found = await context.records.store.ledger.find(id, account.id);
  const several = `${found.length} requests came with this id.`;
  return portalResponse(request, requestParts(id, found.map(exchange), { nothing, several }));
}

const nothing = emptyState(
  'Your account has no request with this id.',
  html`One that has just ended comes within seconds. Of requests that were refused at once, only a sample is kept. <a href="requests">All requests</a>`,
);

const exchange = (row: LedgerRow, at: number): Html =>
  html`<section class="panel" aria-labelledby="request-${at}">
<h2 id="request-${at}">${secondOf(row.started_ms)}</h2>
<div class="columns">${facts(row)}${requestUse(row, true)}</div>
<h3>Attempts</h3>
${tableOf('Attempts, in order', columns, [...row.attempts_made.entries()], html`<p class="muted">It was answered or refused at once.</p>`)}
</section>`;

function facts(row: LedgerRow): Html {
  const { code, refused_by, key_id, endpoint, stream } = row;
  return html`<dl>
<dt>End</dt><dd>${endOf(row)} ${code && code !== row.error_type && html`<code>${code}</code>`}</dd>
${reasonOf(row)}
${refused_by !== null && html`<dt>Refused by</dt><dd>the limit <code>${refused_by}</code></dd>`}
<dt>Key</dt><dd>${key_id === null ? muted('not one of the portal') : html`<a href="${linkOf('key', { id: key_id })}"><code>${key_id}</code></a>`}</dd>
<dt>Model</dt><dd>${modelOf(row)}</dd>
<dt>Endpoint</dt><dd>${endpoint}${stream !== null && (stream ? ', streamed' : ', not streamed')}</dd>
</dl>`;
}

/** By which provider, and with what, is not told. */
const columns: readonly Column<[number, AttemptRow]>[] = [
  { title: 'Attempt', cell: ([at]) => at + 1 },
  { title: 'Began at', cell: ([, { offset_ms }]) => secondsOf(offset_ms), isNumber: true },
  { title: 'First token', cell: ([, { first_token_ms }]) => secondsOf(first_token_ms), isNumber: true },
  { title: 'Duration', cell: ([, { duration_ms }]) => secondsOf(duration_ms), isNumber: true },
];
