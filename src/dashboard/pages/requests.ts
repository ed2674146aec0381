import type { EndReason } from '../../exchange/exchange-end.ts';
import type { LedgerQuery, ListedRow } from '../../stores/records/ledger-records.ts';
import { ledgerPage } from '../ledger-page.ts';
import type { DashboardContext, Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { linkOf, muted, numberOf, secondOf, secondsOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { endOf } from '../view/request-end.ts';
import { inMemoryNotice, pageResponse } from '../view/shell.ts';
import { type Column, emptyState, tableOf } from '../view/table.ts';
import { dollars } from '../view/usage-table.ts';

/** Requests that an upstream was asked for, and a sample of those refused before, newest first. */
export const requestsPage: Page = { name: 'requests', get: listed };

/** How far back the list goes, by its name in the address; the first is the default. */
const spans: Readonly<Record<string, { readonly title: string; readonly ms: number }>> = {
  day: { title: '24 hours', ms: 86_400_000 },
  quarter: { title: '15 minutes', ms: 900_000 },
  hour: { title: '1 hour', ms: 3_600_000 },
  week: { title: '7 days', ms: 604_800_000 },
  month: { title: '30 days', ms: 2_592_000_000 },
  all: { title: 'all times', ms: Number.POSITIVE_INFINITY },
};

/** What a request can have ended as, beside any failure. */
const ends = [
  'completed',
  'upstream_failed',
  'refused',
  'client_gone',
  'slow_client',
  'time_limit',
  'background_aborted',
  'internal_error',
  'shutdown',
] as const satisfies readonly EndReason[];

/** The filters of the list, as they stand in the address. */
interface Filters {
  readonly account: string;
  readonly model: string;
  readonly provider: string;
  readonly key: string;
  /** An end reason, `failed` for all with an error, or empty. */
  readonly end: string;
  readonly since: string;
}

function filtersOf(query: URLSearchParams): Filters {
  const given = (name: string) => (query.get(name) ?? '').trim();
  const [first] = Object.keys(spans);
  return {
    account: given('account'),
    model: given('model'),
    provider: given('provider'),
    key: given('key'),
    end: ['failed', ...ends].find(end => end === given('end')) ?? '',
    since: Object.hasOwn(spans, given('since')) ? given('since') : first!,
  };
}

function queryOf(
  { account, model, provider, key, end, since }: Filters,
  now_ms: number,
): Omit<LedgerQuery, 'limit'> {
  const from_ms = now_ms - spans[since]!.ms;
  return {
    account: account || undefined,
    model: model || undefined,
    provider: provider || undefined,
    key_id: key || undefined,
    failed: end === 'failed',
    end_reason: end === 'failed' ? undefined : end || undefined,
    from_ms: Number.isFinite(from_ms) ? from_ms : undefined,
  };
}

async function listed(request: PageRequest): Promise<PageResponse> {
  const { context, query } = request;
  const filters = filtersOf(query);
  const asked = queryOf(filters, context.clock.epoch_ms());
  const { rows, pager, isFirst } = await ledgerPage(request, asked);
  return pageResponse(request, {
    title: 'Requests',
    section: 'requests',
    beside: findForm,
    scripts: ['requests.js'],
    body: html`${inMemoryNotice(context)}
${filterForm(context, filters)}
<section class="panel" aria-label="List of requests">
${isFirst && liveSwitch}
<div id="requests">
${tableOf('Requests, newest first', columns, rows, nothing(filters))}
${pager}
</div>
</section>
<p class="muted">Of requests that were refused before an upstream was asked only a sample is listed. All are counted under <a href="usage">Usage</a>, and the log has each of them.</p>`,
  });
}

/** Shown by its script, which reloads the list. */
const liveSwitch = html`<p class="live"><button type="button" id="live" aria-pressed="false" hidden>Live</button> <span id="live-state" class="muted" role="status"></span></p>`;

const findForm = html`<form method="get" action="request" class="row" role="search" aria-label="Find one request">
<label>Request id <input name="id" placeholder="x-request-id" autocomplete="off" spellcheck="false" required></label>
<button>Find</button>
</form>`;

function filterForm({ catalog, settings }: DashboardContext, filters: Filters): Html {
  const { account, model, provider, key, end, since } = filters;
  const text = (label: string, name: string, value: string, list?: string) =>
    html`<label>${label} <input name="${name}" value="${value}" placeholder="any" ${list && html`list="${list}"`} autocomplete="off" spellcheck="false"></label>`;
  const option = (value: string, title: string, chosen: string) =>
    html`<option value="${value}" ${value === chosen && html`selected`}>${title}</option>`;
  return html`<form method="get" action="requests" class="row panel" role="search" aria-label="Filter requests">
<label>Time <select name="since">${Object.entries(spans).map(([name, { title }]) => option(name, title, since))}</select></label>
${text('Account', 'account', account)}
${text('Model', 'model', model, 'models')}
${text('Provider', 'provider', provider, 'providers')}
${text('Key id', 'key', key)}
<label>End <select name="end">${option('', 'any', end)}${option('failed', 'any error', end)}${ends.map(name => option(name, name, end))}</select></label>
<datalist id="models">${catalog.models.map(({ id }) => html`<option value="${id}"></option>`)}</datalist>
<datalist id="providers">${settings.providers.map(({ name }) => html`<option value="${name}"></option>`)}</datalist>
<input type="hidden" name="live" value="yes" id="keep-live" disabled>
<button class="primary">Show</button>
</form>`;
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
  {
    title: 'Tokens in, out',
    cell: ({ prompt_tokens, completion_tokens }) =>
      html`<span class="nowrap">${numberOf(prompt_tokens)}, ${numberOf(completion_tokens)}</span>`,
    isNumber: true,
  },
  { title: 'Cost', cell: ({ cost_usd }) => dollars(cost_usd), isNumber: true },
];

function nothing(filters: Filters): Html {
  const { since, ...others } = filters;
  const isFiltered = Object.values(others).some(value => value !== '');
  const why = `No request${isFiltered ? ' matches' : ''} in ${spans[since]!.title === 'all times' ? 'all times' : `the last ${spans[since]!.title}`}.`;
  const longer =
    since === 'all'
      ? ''
      : html` <a href="${linkOf('requests', { ...filters, since: 'all' })}">Look at all times</a>`;
  return emptyState(why, html`Requests appear here seconds after they end.${longer}`);
}
