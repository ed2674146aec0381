import {
  type AttemptRow,
  type LedgerRow,
  type ListedRow,
  picoUsd,
  signedUsdOf,
} from '../../../src/plugin.ts';
import { searchLedger } from '../ledger-page.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { type PageResponse, redirect } from '../page-response.ts';
import type { Scope } from '../scope.ts';
import { accountLink, dollars, linkOf, muted, numberOf, secondOf, secondsOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { endOf, idText, type KeyNames, keyLink, keyNames } from '../view/request-columns.ts';
import { pageResponse } from '../view/shell.ts';
import { type Column, emptyState, names, numbers, tableOf } from '../view/table.ts';
import { timelineTable } from '../view/timeline.ts';

/** One request, found by its `x-request-id`: how it ended, what it used, and every attempt. */
export const requestPage: Page = { name: 'request', get: shown };

/** Characters of a part of an id that is looked for. */
const min_part = 6;

async function shown(request: PageRequest): Promise<PageResponse> {
  const { context, query, scope } = request;
  const id = (query.get('id') ?? '').trim();
  const found = await context.records.store.ledger.find(id, scope.account?.id);
  if (found.length === 0 && id.length >= min_part) {
    const asked = { account: scope.account?.id, request_part: id, limit: 1 };
    const { found: like } = await searchLedger(context, asked);
    if (like.length > 0) return redirect(linkOf('requests', { request: id, since: 'all' }));
  }
  const names = await keyNames(request, found);
  return pageResponse(request, {
    title: 'Request',
    section: 'requests',
    status: found.length > 0 ? 200 : 404,
    scripts: ['copy.js'],
    beside: id && idText('id', id),
    body:
      found.length > 0
        ? html`${found.length > 1 && html`<p class="notice">${found.length} requests came with this id: clients choose it.</p>`}
${found.map((row, at) => exchange(row, at, scope, names))}
${await neighbours(request, found[0]!)}`
        : html`<section class="panel" aria-label="Request">${nothing(scope)}</section>`,
  });
}

/** Links to the requests of the same account around this one. */
async function neighbours(
  { context, scope }: PageRequest,
  { account, started_ms, id }: LedgerRow,
): Promise<Html> {
  const place = { started_ms, id };
  const { ledger } = context.records.store;
  const [[older], [newer]] = await Promise.all([
    ledger.list({ account, after: place, limit: 1 }),
    ledger.list({ account, before: place, limit: 1 }),
  ]);
  const link = (row: ListedRow | undefined, rel: string, title: string) =>
    row &&
    html`<a class="button" href="${linkOf('request', { id: row.request_id })}" rel="${rel}">${title}</a>`;
  return html`<nav class="pager" aria-label="Requests of the same account">${link(older, 'prev', 'Earlier')}${link(newer, 'next', 'Later')}
<a class="button" href="${linkOf('requests', { account: scope.account ? undefined : account })}">All of ${scope.account ? 'the account' : account}</a></nav>`;
}

const nothing = ({ account }: Scope): Html =>
  emptyState(
    account ? 'Your account has no request with this id.' : 'The ledger has no request with this id.',
    html`${!account && 'Look for the id in the log. '}A part of it finds from ${min_part} characters on, in the newest requests. Of requests that were refused at once, only a sample is kept, and one that has just ended comes within seconds. <a href="requests">All requests</a>`,
  );

const exchange = (row: LedgerRow, at: number, scope: Scope, names: KeyNames): Html =>
  html`<section class="panel" aria-labelledby="request-${at}">
<h2 id="request-${at}">${secondOf(row.started_ms)}</h2>
<div class="columns">${facts(row, scope, names)}${use(row, scope)}</div>
<h3>Attempts</h3>
${scope.sees.internals ? attempts(row, scope) : tableOf('Attempts, in order', outerColumns, row.attempts_made, html`<p class="muted">It was answered or refused at once.</p>`)}
</section>`;

function attempts(row: LedgerRow, { sees }: Scope): Html {
  const { attempts_made, end_reason } = row;
  const isRead = sees.providerTexts && attempts_made.some(({ error_message }) => error_message !== null);
  return html`${tableOf('Attempts, in order', isRead ? [...attemptColumns, said] : attemptColumns, attempts_made, html`<p class="muted">${end_reason === 'completed' ? 'No provider was called: a stage answered.' : 'It ended before a provider was called.'}</p>`)}
<h3>Timeline</h3>
${timelineTable(row)}
<p class="muted">A stage's time is its own: of <code>onStream</code> it is spread over the whole stream. The end of a request, <code>onSettled</code>, is not in it. Waits for a provider are pale, and a thin mark is the first token.</p>`;
}

function facts(row: LedgerRow, { account, sees }: Scope, names: KeyNames): Html {
  const { code, refused_by, key_id, endpoint, stream, error_message, error_param, trace_id } = row;
  const { model, requested_model } = row;
  const noKey = account ? 'not one of the portal' : 'of the configuration or the application';
  return html`<dl>
<dt>End</dt><dd>${endOf(row)} ${code && code !== row.error_type && html`<code>${code}</code>`}</dd>
${error_message !== null && html`<dt>Reason</dt><dd>${error_message}${error_param !== null && html` ${muted('field')} <code>${error_param}</code>`}</dd>`}
${refused_by !== null && html`<dt>Refused by</dt><dd>the limit <code>${refused_by}</code></dd>`}
${!account && html`<dt>Account</dt><dd>${accountLink(row.account)}</dd>`}
<dt>Key</dt><dd>${key_id === null ? muted(noKey) : keyLink(key_id, names)}</dd>
<dt>Model</dt><dd>${model ?? muted('none')}${requested_model !== null && html` ${muted('asked for as')} <code>${requested_model}</code>`}</dd>
<dt>Endpoint</dt><dd>${endpoint}${stream !== null && (stream ? ', streamed' : ', not streamed')}</dd>
${sees.internals && html`<dt>Trace</dt><dd>${trace_id === null ? muted('not recorded') : html`<code>${trace_id}</code>`}</dd>`}
</dl>`;
}

const marginOf = ({ cost_usd }: LedgerRow, paid_usd: string): string =>
  signedUsdOf(picoUsd(cost_usd) - picoUsd(paid_usd));

/** What a request took and used. */
function use(row: LedgerRow, { sees }: Scope): Html {
  const { prompt_tokens, cached_tokens, cache_creation_tokens, completion_tokens, reasoning_tokens } = row;
  const part = (count: number, what: string): Part => count > 0 && muted(` ${numberOf(count)} ${what}`);
  return html`<dl>
<dt>Duration</dt><dd>${secondsOf(row.duration_ms)}</dd>
<dt>First token</dt><dd>${secondsOf(row.first_token_ms)}</dd>
<dt>Prompt tokens</dt><dd>${numberOf(prompt_tokens)}${part(cached_tokens, 'cached')}${part(cache_creation_tokens, 'written to the cache')}</dd>
<dt>Completion tokens</dt><dd>${numberOf(completion_tokens)}${part(reasoning_tokens, 'reasoning')}</dd>
${sees.money && html`<dt>Cost</dt><dd>${dollars(row.cost_usd)}</dd>`}
${sees.margins && row.paid_usd !== null && html`<dt>Paid</dt><dd>${dollars(row.paid_usd)} ${muted('margin')} ${dollars(marginOf(row, row.paid_usd))}</dd>`}
${row.estimated && html`<dt>Tokens</dt><dd>${muted('estimated')}</dd>`}
</dl>`;
}

const began: Column<AttemptRow> = numbers('Began at', ({ offset_ms }) => secondsOf(offset_ms));
const took: readonly Column<AttemptRow>[] = [
  numbers('First token', ({ first_token_ms }) => secondsOf(first_token_ms)),
  numbers('Duration', ({ duration_ms }) => secondsOf(duration_ms)),
];

const attemptColumns: readonly Column<AttemptRow>[] = [
  names('Provider', ({ provider }) => provider ?? muted('handler')),
  names('Model at the provider', ({ model }) => model ?? muted('as sent')),
  began,
  numbers('Waited before', ({ wait_ms }) => secondsOf(wait_ms)),
  numbers('Status', ({ status }) => status ?? muted('none')),
  ...took,
  { title: 'Outcome', cell: outcomeOf },
];

/** By which provider, and with what outcome, is not told. */
const outerColumns = [began, ...took];

/** For those who may read it. */
const said: Column<AttemptRow> = { title: 'Provider said', cell: ({ error_message }) => error_message };

function outcomeOf({ outcome, kind }: AttemptRow): Html {
  const tone = outcome === 'completed' ? 'good' : outcome === 'failed' ? 'bad' : 'warn';
  return html`<span class="state ${tone}">${outcome ?? 'unknown'}</span> ${kind}`;
}
