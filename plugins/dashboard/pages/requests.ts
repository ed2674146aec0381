import { errorCatalogue, type ListedRow, no_model as none } from '../../../src/plugin.ts';
import { ledgerPage } from '../ledger-page.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import {
  ends,
  filtersOf,
  isOffered,
  isTime,
  queryOf,
  type RequestFilters,
  spans,
  texts,
  timeOfList,
} from '../request-filters.ts';
import type { Scope } from '../scope.ts';
import { dollars, linkOf, muted, numberOf, secondOf, secondsOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { accountColumn } from '../view/key-table.ts';
import { choiceField, listOf, searchForm, textField } from '../view/search-form.ts';
import { inMemoryNotice, pageResponse } from '../view/shell.ts';
import { type Column, emptyState, names, numbers, tableOf } from '../view/table.ts';
import { endOf } from './request.ts';

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

/** The list that the address asks for. */
async function requestsOf(request: PageRequest): Promise<{ readonly list: Html; readonly isFirst: boolean }> {
  const { rows, pager, isFirst, isPart } = await ledgerPage(request, queryOf(request));
  const empty = isPart ? noneYet : nothing(filtersOf(request));
  const isPaid = request.scope.sees.margins && rows.some(({ paid_usd }) => paid_usd !== null);
  const columns = [...columnsFor(request.scope), ...(isPaid ? [paid] : [])];
  return {
    list: html`${tableOf('Requests, newest first', columns, rows, empty, { keyOf: ({ id }) => id })}${pager}`,
    isFirst,
  };
}

async function listed(request: PageRequest): Promise<PageResponse> {
  const { scope } = request;
  const filters = filtersOf(request);
  const { list, isFirst } = await requestsOf(request);
  return pageResponse(request, {
    title: 'Requests',
    section: 'requests',
    beside: findForm(request),
    scripts: scope.account ? [] : ['requests.js'],
    body: html`${inMemoryNotice(request)}
${filterForm(request, filters)}
<section class="panel" aria-label="List of requests">
${!scope.account && isFirst && !filters.until && liveSwitch}
<div id="requests">${list}</div>
</section>
<p class="muted">Of requests that were refused at once, only a sample is listed. All are counted under <a href="usage">Usage</a>${!scope.account && ', and the log has each of them'}.</p>`,
  });
}

/** Shown by its script, which keeps the list up to date. */
const liveSwitch = html`<p class="live"><button type="button" id="live" aria-pressed="false" hidden>Live</button> <span id="live-state" class="muted" role="status"></span></p>`;

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

const endChoices: readonly (readonly [string, string])[] = [
  ['', 'any'],
  ['failed', 'any error'],
  ...ends.map(name => [name, name] as const),
];

function filterForm(request: PageRequest, filters: RequestFilters): Html {
  const { context, scope } = request;
  const { end, since, until } = filters;
  const text = (name: keyof typeof texts) =>
    isOffered(name, scope) &&
    textField(texts[name], { name, value: filters[name], placeholder: 'any', list: lists[name] });
  const times = Object.entries(spans).map(([name, { title }]): [string, string] => [name, title]);
  const isMore = more_texts.some(name => filters[name] !== '');
  const fields = html`<div class="row">
${choiceField('Time', 'since', isTime(since) ? [[since, timeOfList(filters)], ...times] : times, since)}
${until && html`<input type="hidden" name="until" value="${until}">`}
${shown_texts.map(text)}
${choiceField('End', 'end', endChoices, end)}
<input type="hidden" name="live" value="yes" id="keep-live" disabled>
<button class="primary">Show</button>
</div>
<details class="more" ${isMore && html`open`}><summary>More filters</summary><div class="row">${more_texts.map(text)}</div></details>
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

/** What of a request its reader sees in a list. */
export const columnsFor = ({ account, sees }: Scope): readonly Column<ListedRow>[] => [
  time,
  ...(account ? [] : [accountColumn]),
  names('Model', ({ model }) => model ?? muted('none')),
  ...(sees.internals ? [providerColumn] : []),
  ...outcomes,
  ...(sees.money ? [cost] : []),
];

const time: Column<ListedRow> = {
  title: 'Time',
  cell: ({ started_ms, request_id }) =>
    html`<a class="folded" href="${linkOf('request', { id: request_id })}">${secondOf(started_ms)}</a>`,
};

const providerColumn: Column<ListedRow> = names('Provider', ({ provider }) => provider ?? muted('none'));

const outcomes: readonly Column<ListedRow>[] = [
  {
    title: 'End',
    cell: row =>
      html`${endOf(row)}${row.error_message && html`<span class="muted reason">${row.error_message}</span>`}`,
  },
  numbers('First token', ({ first_token_ms }) => secondsOf(first_token_ms)),
  numbers('Duration', ({ duration_ms }) => secondsOf(duration_ms)),
  numbers(
    'Tokens in, out',
    ({ prompt_tokens, completion_tokens }) =>
      html`<span class="nowrap">${numberOf(prompt_tokens)}, ${numberOf(completion_tokens)}</span>`,
  ),
];

const cost: Column<ListedRow> = numbers('Cost', ({ cost_usd }) => dollars(cost_usd));

const paid: Column<ListedRow> = numbers('Paid', ({ paid_usd }) => paid_usd !== null && dollars(paid_usd));

/** In place of a page without rows, if others may have some. */
const noneYet = emptyState(
  'No request here matches.',
  'What is asked for is rare: look further with the links below, or choose a shorter time.',
);

/** In place of a list without rows. */
function nothing(filters: RequestFilters): Html {
  const { since, until: _, ...others } = filters;
  const isFiltered = Object.values(others).some(value => value !== '');
  const why = `No request${isFiltered ? ' matches' : ''} in ${timeOfList(filters)}.`;
  const longer =
    since === 'all'
      ? ''
      : html` <a href="${linkOf('requests', { ...others, since: 'all' })}">Show all times</a>`;
  return emptyState(why, html`Requests appear here seconds after they end.${longer}`);
}
