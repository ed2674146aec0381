import type { AttemptRow, LedgerRow } from '../../../src/plugin.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import type { Scope } from '../scope.ts';
import { linkOf, muted, numberOf, secondOf, secondsOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { dollars } from '../view/money.ts';
import { endOf } from '../view/request-end.ts';
import { type PageParts, pageResponse } from '../view/shell.ts';
import { type Column, emptyState, tableOf } from '../view/table.ts';
import { timelineTable } from '../view/timeline.ts';

/** One request, found by its `x-request-id`: how it ended, what it used, and every attempt. */
export const requestPage: Page = { name: 'request', get: shown };

async function shown(request: PageRequest): Promise<PageResponse> {
  const id = idOf(request);
  const found = await request.context.records.store.ledger.find(id);
  const several = `${found.length} requests came with this id: clients choose it.`;
  const exchanges = found.map((row, at) => exchange(row, at, request.scope));
  return pageResponse(request, requestParts(id, exchanges, { nothing, several }));
}

/** The request id that the address names. */
export const idOf = ({ query }: PageRequest): string => (query.get('id') ?? '').trim();

/** The page of the requests with one id, each as shown by `exchanges`, with what is said of none and of several. */
export function requestParts(
  id: string,
  exchanges: readonly Html[],
  { nothing, several }: { readonly nothing: Html; readonly several: string },
): PageParts {
  const isFound = exchanges.length > 0;
  return {
    title: 'Request',
    section: 'requests',
    status: isFound ? 200 : 404,
    beside: html`<code class="muted">${id}</code>`,
    body: isFound
      ? html`${exchanges.length > 1 && html`<p class="notice">${several}</p>`}
${exchanges}`
      : html`<section class="panel" aria-label="Request">${nothing}</section>`,
  };
}

const nothing = emptyState(
  'The ledger has no request with this id.',
  html`Look for the id in the log: of requests that were refused before a provider was called, only a sample is kept, and one that has just ended comes within seconds. <a href="requests">All requests</a>`,
);

function exchange(row: LedgerRow, at: number, { sees }: Scope): Html {
  const { attempts_made } = row;
  const isRead = sees.providerTexts && attempts_made.some(({ error_message }) => error_message !== null);
  return html`<section class="panel" aria-labelledby="request-${at}">
<h2 id="request-${at}">${secondOf(row.started_ms)}</h2>
<div class="columns">${facts(row)}${requestUse(row, sees.money)}</div>
<h3>Attempts</h3>
${tableOf('Attempts, in order', isRead ? [...attemptColumns, said] : attemptColumns, attempts_made, html`<p class="muted">${row.end_reason === 'completed' ? 'No provider was called: a stage answered.' : 'It ended before a provider was called.'}</p>`)}
<h3>Timeline</h3>
${timelineTable(row)}
<p class="muted">A stage's time is its own: of <code>onStream</code> it is spread over the whole stream. The end of a request, <code>onSettled</code>, is not in it. Waits for a provider are pale, and a thin mark is the first token.</p>
</section>`;
}

function facts(row: LedgerRow): Html {
  const { account, key_id, endpoint, stream, code, refused_by, trace_id } = row;
  return html`<dl>
<dt>End</dt><dd>${endOf(row)} ${code && code !== row.error_type && html`<code>${code}</code>`}</dd>
${reasonOf(row)}
${refused_by !== null && html`<dt>Refused by</dt><dd>the limit <code>${refused_by}</code></dd>`}
<dt>Account</dt><dd><a href="${linkOf('account', { id: account })}">${account}</a></dd>
<dt>Key</dt><dd>${key_id === null ? muted('of the configuration or the application') : html`<a href="${linkOf('key', { id: key_id })}"><code>${key_id}</code></a>`}</dd>
<dt>Model</dt><dd>${modelOf(row)}</dd>
<dt>Endpoint</dt><dd>${endpoint}${stream !== null && (stream ? ', streamed' : ', not streamed')}</dd>
<dt>Trace</dt><dd>${trace_id === null ? muted('not recorded') : html`<code>${trace_id}</code>`}</dd>
</dl>`;
}

/** What its client was told of an error, and the request field at fault. */
export const reasonOf = ({ error_message, error_param }: LedgerRow): Part =>
  error_message !== null &&
  html`<dt>Reason</dt><dd>${error_message}${error_param !== null && html` ${muted('field')} <code>${error_param}</code>`}</dd>`;

/** Its model, and the name that its client asked for if that is another. */
export const modelOf = ({ model, requested_model }: LedgerRow): Html =>
  html`${model ?? muted('none')}${requested_model !== null && html` ${muted('asked for as')} <code>${requested_model}</code>`}`;

/** What a request took and used. */
export function requestUse(row: LedgerRow, isMoneySeen: boolean): Html {
  const { prompt_tokens, cached_tokens, cache_creation_tokens, completion_tokens, reasoning_tokens } = row;
  const part = (count: number, what: string): Part => count > 0 && muted(` ${numberOf(count)} ${what}`);
  return html`<dl>
<dt>Duration</dt><dd>${secondsOf(row.duration_ms)}</dd>
<dt>First token</dt><dd>${secondsOf(row.first_token_ms)}</dd>
<dt>Prompt tokens</dt><dd>${numberOf(prompt_tokens)}${part(cached_tokens, 'cached')}${part(cache_creation_tokens, 'written to the cache')}</dd>
<dt>Completion tokens</dt><dd>${numberOf(completion_tokens)}${part(reasoning_tokens, 'reasoning')}</dd>
${isMoneySeen && html`<dt>Cost</dt><dd>${dollars(row.cost_usd)}</dd>`}
${row.estimated && html`<dt>Tokens</dt><dd>${muted('estimated')}</dd>`}
</dl>`;
}

const attemptColumns: readonly Column<AttemptRow>[] = [
  { title: 'Provider', cell: ({ provider }) => provider ?? muted('handler'), isName: true },
  { title: 'Model at the provider', cell: ({ model }) => model ?? muted('as sent'), isName: true },
  { title: 'Began at', cell: ({ offset_ms }) => secondsOf(offset_ms), isNumber: true },
  { title: 'Waited before', cell: ({ wait_ms }) => secondsOf(wait_ms), isNumber: true },
  { title: 'Status', cell: ({ status }) => status ?? muted('none'), isNumber: true },
  { title: 'First token', cell: ({ first_token_ms }) => secondsOf(first_token_ms), isNumber: true },
  { title: 'Duration', cell: ({ duration_ms }) => secondsOf(duration_ms), isNumber: true },
  { title: 'Outcome', cell: outcomeOf },
];

/** For those who may read it. */
const said: Column<AttemptRow> = { title: 'Provider said', cell: ({ error_message }) => error_message };

function outcomeOf({ outcome, kind }: AttemptRow): Html {
  const tone = outcome === 'completed' ? 'good' : outcome === 'failed' ? 'bad' : 'warn';
  return html`<span class="state ${tone}">${outcome ?? 'unknown'}</span> ${kind}`;
}
