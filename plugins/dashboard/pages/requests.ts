import { errorCatalogue, type ListedRow, no_model as none } from '../../../src/plugin.ts';
import { ledgerPage, searched_rows } from '../ledger-page.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import {
  ends,
  filtersOf,
  isOffered,
  queryOf,
  type RequestFilters,
  spans,
  texts,
  timeIn,
  timeOfList,
} from '../request-filters.ts';
import { accountField } from '../view/account-field.ts';
import { linkOf, numberOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { recordList, sortingOf } from '../view/list.ts';
import { page_rows, placeOf } from '../view/pager.ts';
import { rangeLinks } from '../view/range-links.ts';
import { requestColumns } from '../view/request-columns.ts';
import { choiceField, listOf, searchForm, textField } from '../view/search-form.ts';
import { inMemoryNotice, pageResponse } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';
import { localIso, zoneName } from '../view/time-zone.ts';

/** Rows of a file of the list at most. */
export const max_exported = 20_000;

/** Requests that an upstream was asked for, and a sample of those refused before, newest first. */
export const requestsPage: Page = { name: 'requests', get: listed };

/** Pause between two looks at the ledger for an open list. */
const every_ms = 2000;

/** The stream of the list's script: the list, as it changes. */
export const requestsLivePage: Page = {
  name: 'requests-live',
  streams: true,
  get: request => {
    return request.services.live.serve(request, {
      every_ms,
      parts: async () => ({ requests: (await requestsOf({ ...request, path: requestsPage.name })).list }),
    });
  },
};

/** The columns of the list; those of what is paid only where `rows` have it, if they are known. */
export function columnsOf({ context, scope }: PageRequest, rows?: readonly ListedRow[]) {
  const isPaid = !rows || rows.some(({ paid_usd }) => paid_usd !== null);
  const isSortable = context.records.store.ledger.largest !== undefined;
  return requestColumns(scope, context.clock.epoch_ms(), { isPaid, isSortable });
}

/** What the ledger sorts by, by the names of columns. */
const sorts: Readonly<Record<string, 'duration_ms' | 'cost_usd'>> = {
  duration: 'duration_ms',
  cost: 'cost_usd',
};

/** The `limit` largest rows of a list that is sorted by what is large; undefined for one that is in the order of time. */
export async function largestOf(
  request: PageRequest,
  limit: number,
): Promise<readonly ListedRow[] | undefined> {
  const { ledger } = request.context.records.store;
  const by = sorts[sortingOf(request.query, columnsOf(request))?.key ?? ''];
  if (!by) return undefined;
  const asked = queryOf(request);
  const edge = await ledger.edgeOf(asked, searched_rows);
  return ledger.largest!(by, { ...asked, edge, limit }, searched_rows);
}

/** The list that the address asks for. */
async function requestsOf(request: PageRequest): Promise<{ readonly list: Html; readonly isFirst: boolean }> {
  const largest = await largestOf(request, page_rows);
  const { rows, pager, isFirst, isPart } = largest
    ? { rows: largest, pager: sorted, isFirst: false, isPart: false }
    : await ledgerPage(request, queryOf(request));
  const list = recordList(request, {
    label: 'Requests',
    columns: columnsOf(request, rows),
    rows,
    sorting: { key: 'time', order: 'desc' },
    keyOf: ({ id }) => id,
    empty: isPart ? noneYet : nothing(filtersOf(request)),
    csv: linkOf('requests-csv', placeOf(request.query).search),
    pager,
  });
  return { list, isFirst };
}

const sorted = html`<p class="muted">The first ${page_rows} of the newest ${numberOf(searched_rows)} requests of this time.</p>`;

async function listed(request: PageRequest): Promise<PageResponse> {
  const { scope } = request;
  const filters = filtersOf(request);
  const { list, isFirst } = await requestsOf(request);
  return pageResponse(request, {
    title: 'Requests',
    section: 'requests',
    beside: findForm(request),
    scripts: ['copy.js', ...(scope.account ? [] : ['requests.js', 'accounts.js'])],
    body: html`${inMemoryNotice(request)}
${await filterForm(request, filters)}
<section class="panel lines" aria-label="List of requests">
<div class="row">${rangeLinks(request, filters.until ? '' : filters.since, spanTitles)}${!scope.account && isFirst && !filters.until && liveSwitch}</div>
<div id="requests">${list}</div>
</section>
<p class="muted">Of requests that were refused at once, only a sample is listed. All are counted under <a href="usage">Usage</a>${!scope.account && ', and the log has each of them'}. A file has the newest ${numberOf(max_exported)} that match.</p>`,
  });
}

const spanTitles = Object.entries(spans).map(([name, { title }]) => [name, title] as const);

/** Shown by its script, which keeps the list up to date. */
const liveSwitch = html`<span class="live"><button type="button" id="live" aria-pressed="false" hidden>Live</button> <span id="live-state" class="muted" role="status"></span></span>`;

/** Leads to the page of a request. */
const findForm = (request: PageRequest): Html =>
  searchForm(
    request,
    'request',
    html`${textField('Request id', { name: 'id', placeholder: 'x-request-id', required: true })}
<button>Find</button>`,
    { style: 'row', label: 'Find one request' },
  );

/** Filters that are always shown; the others are opened, and are open where they are used. */
const shown_texts = ['model', 'provider'] as const;
const more_texts = ['error_type', 'code', 'failed_at', 'key', 'request'] as const;
/** Lists of what is known, by filter. */
const lists: Readonly<Partial<Record<keyof typeof texts, string>>> = {
  model: 'models',
  provider: 'providers',
  failed_at: 'providers',
  error_type: 'error-types',
  code: 'codes',
};

const endChoices: readonly (readonly [string, string])[] = [
  ['', 'any'],
  ['failed', 'any error'],
  ...ends.map(name => [name, name] as const),
];

/** A field for a time; of the name of a span it is empty. */
function timeField(title: string, name: string, value: string): Html {
  const epoch_ms = timeIn(value);
  const shown = epoch_ms === undefined ? '' : localIso(epoch_ms).slice(0, 16);
  return html`<label>${title} (${zoneName()}) <input type="datetime-local" name="${name}" value="${shown}"></label>`;
}

async function filterForm(request: PageRequest, filters: RequestFilters): Promise<Html> {
  const { context, scope } = request;
  const { end, since, until } = filters;
  const text = (name: keyof typeof texts) =>
    isOffered(name, scope) &&
    textField(texts[name], { name, value: filters[name], placeholder: 'any', list: lists[name] });
  const isMore = until !== '' || timeIn(since) !== undefined || more_texts.some(name => filters[name] !== '');
  const fields = html`<div class="row">
${timeIn(since) === undefined && html`<input type="hidden" name="since" value="${since}">`}
${!scope.account && (await accountField(request, filters.account, 'any'))}${shown_texts.map(text)}
${choiceField('End', 'end', endChoices, end)}
<input type="hidden" name="live" value="yes" id="keep-live" disabled>
<button class="primary">Show</button>
</div>
<details class="more" ${isMore && html`open`}><summary>More filters</summary><div class="row">${timeField('From', 'since', since)}${timeField('To', 'until', until)}${more_texts.map(text)}</div></details>
${listOf('models', [...context.catalog.models.map(({ id }) => id), none])}
${
  scope.sees.internals &&
  listOf(
    'providers',
    context.providers.map(({ name }) => name),
  )
}
${listOf('error-types', [...new Set(Object.values(errorCatalogue).map(({ type }) => type))])}
${listOf('codes', Object.keys(errorCatalogue))}`;
  return searchForm(request, 'requests', fields, { style: 'panel', label: 'Filter requests' });
}

/** In place of a page without rows, if others may have some. */
const noneYet = emptyState(
  'No request here matches.',
  'What is asked for is rare: look further with the links below, or choose a shorter time.',
);

/** In place of a list without rows. */
function nothing(filters: RequestFilters): Html {
  const { since, until, ...others } = filters;
  const isFiltered = Object.values(others).some(value => value !== '');
  const why = `No request${isFiltered ? ' matches' : ''} in ${timeOfList(filters)}.`;
  const longer =
    since === 'all' && !until
      ? ''
      : html` <a href="${linkOf('requests', { ...others, since: 'all' })}">Show all times</a>`;
  return emptyState(why, html`Requests appear here seconds after they end.${longer}`);
}
