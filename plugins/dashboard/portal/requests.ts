import { no_model } from '../../../src/plugin.ts';
import { ledgerPage } from '../ledger-page.ts';
import type { Page } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { columns, cost, findForm, nothing } from '../pages/requests.ts';
import { ends, filtersOf, queryOf, type RequestFilters, spans } from '../request-filters.ts';
import { type Html, html } from '../view/html.ts';
import { searchForm } from '../view/search-form.ts';
import { tableOf } from '../view/table.ts';
import { type PortalRequest, portalPage, portalResponse } from './portal-page.ts';

/** The account's requests, newest first. */
export const requestsPage: Page = portalPage({ name: 'requests', get: listed });

/** Columns of operators only. */
const internal: readonly string[] = ['Account', 'Provider'];
/** What customers see of their requests in a list. */
export const requestColumns = [...columns.filter(({ title }) => !internal.includes(title)), cost];

/** Filters that customers have, all others are as if they were left out. */
function ownFilters(query: URLSearchParams): RequestFilters {
  const filters = filtersOf(query);
  return { ...filters, account: '', provider: '', failed_at: '' };
}

async function listed(request: PortalRequest): Promise<PageResponse> {
  const { account, context, query } = request;
  const filters = ownFilters(query);
  const asked = { ...queryOf(filters, context.clock.epoch_ms()), account: account.id };
  const { rows, pager } = await ledgerPage(request, asked);
  return portalResponse(request, {
    title: 'Requests',
    section: 'requests',
    beside: findForm(request),
    body: html`${filterForm(request, filters)}
<section class="panel" aria-label="List of requests">
${tableOf('Requests, newest first', requestColumns, rows, nothing(filters))}
${pager}
</section>
<p class="muted">Of requests that were refused at once, only a sample is listed. All are counted under <a href="usage">Usage</a>.</p>`,
  });
}

function filterForm(request: PortalRequest, filters: RequestFilters): Html {
  const { catalog } = request.context;
  const option = (value: string, title: string, chosen: string) =>
    html`<option value="${value}" ${value === chosen && html`selected`}>${title}</option>`;
  const text = (name: 'key' | 'code', title: string) =>
    html`<label>${title} <input name="${name}" value="${filters[name]}" placeholder="any" autocomplete="off" spellcheck="false"></label>`;
  const fields = html`<label>Time <select name="since">${Object.entries(spans).map(([name, { title }]) => option(name, title, filters.since))}</select></label>
<label>Model <input name="model" value="${filters.model}" placeholder="any" list="models" autocomplete="off" spellcheck="false"></label>
${text('key', 'Key id')}
${text('code', 'Error code')}
<label>End <select name="end">${option('', 'any', filters.end)}${option('failed', 'any error', filters.end)}${ends.map(name => option(name, name, filters.end))}</select></label>
<button class="primary">Show</button>
<datalist id="models">${[...catalog.models.map(({ id }) => id), no_model].map(id => html`<option value="${id}"></option>`)}</datalist>`;
  return searchForm(request, 'requests', fields, { label: 'Filter requests' });
}
