import { errorCatalogue } from '../../errors.ts';
import type { ListedRow } from '../../stores/records/ledger-records.ts';
import { no_model as none } from '../../stores/records/usage-columns.ts';
import { ledgerPage } from '../ledger-page.ts';
import type { DashboardContext, Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import {
  ends,
  filtersOf,
  isTime,
  queryOf,
  type RequestFilters,
  spans,
  texts,
  timeOfList,
} from '../request-filters.ts';
import { linkOf, muted, numberOf, secondOf, secondsOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { dollars } from '../view/money.ts';
import { endOf } from '../view/request-end.ts';
import { inMemoryNotice, pageResponse } from '../view/shell.ts';
import { type Column, emptyState, tableOf } from '../view/table.ts';

/** Requests that an upstream was asked for, and a sample of those refused before, newest first. */
export const requestsPage: Page = { name: 'requests', get: listed };

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
${isFirst && !filters.until && liveSwitch}
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

/** Filters that are always shown; the others are opened, and are open where they are used. */
const shown_texts = ['account', 'model', 'provider'] as const;
const more_texts = ['error_type', 'code', 'failed_at', 'key'] as const;
/** Lists of what is known, by filter. */
const lists: Readonly<Partial<Record<keyof typeof texts, string>>> = {
  model: 'models',
  provider: 'providers',
  failed_at: 'providers',
  error_type: 'error-types',
  code: 'codes',
};

function filterForm({ catalog, settings }: DashboardContext, filters: RequestFilters): Html {
  const { end, since, until } = filters;
  const text = (name: keyof typeof texts) =>
    html`<label>${texts[name]} <input name="${name}" value="${filters[name]}" placeholder="any" ${lists[name] && html`list="${lists[name]}"`} autocomplete="off" spellcheck="false"></label>`;
  const option = (value: string, title: string, chosen: string) =>
    html`<option value="${value}" ${value === chosen && html`selected`}>${title}</option>`;
  const list = (id: string, values: readonly string[]) =>
    html`<datalist id="${id}">${values.map(value => html`<option value="${value}"></option>`)}</datalist>`;
  const isMore = more_texts.some(name => filters[name] !== '');
  return html`<form method="get" action="requests" class="panel" role="search" aria-label="Filter requests">
<div class="row">
<label>Time <select name="since">${isTime(since) && option(since, timeOfList(filters), since)}${Object.entries(spans).map(([name, { title }]) => option(name, title, since))}</select></label>
${until && html`<input type="hidden" name="until" value="${until}">`}
${shown_texts.map(text)}
<label>End <select name="end">${option('', 'any', end)}${option('failed', 'any error', end)}${ends.map(name => option(name, name, end))}</select></label>
<input type="hidden" name="live" value="yes" id="keep-live" disabled>
<button class="primary">Show</button>
</div>
<details class="more" ${isMore && html`open`}><summary>More filters</summary><div class="row">${more_texts.map(text)}</div></details>
${list('models', [...catalog.models.map(({ id }) => id), none])}
${list(
  'providers',
  settings.providers.map(({ name }) => name),
)}
${list('error-types', [...new Set(Object.values(errorCatalogue).map(({ type }) => type))])}
${list('codes', Object.keys(errorCatalogue))}
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

function nothing(filters: RequestFilters): Html {
  const { since, until: _, ...others } = filters;
  const isFiltered = Object.values(others).some(value => value !== '');
  const why = `No request${isFiltered ? ' matches' : ''} in ${timeOfList(filters)}.`;
  const longer =
    since === 'all'
      ? ''
      : html` <a href="${linkOf('requests', { ...others, since: 'all' })}">Look at all times</a>`;
  return emptyState(why, html`Requests appear here seconds after they end.${longer}`);
}
