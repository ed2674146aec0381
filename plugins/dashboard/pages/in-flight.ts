import type { RunningExchange, RunningPlace } from '../../../src/plugin.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { tokenInput } from '../view/document.ts';
import { accountLink, durationOf, muted, numberOf, secondOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { recordList } from '../view/list.ts';
import { idText, type KeyNames, keyLink, keyNames } from '../view/request-columns.ts';
import { pageResponse } from '../view/shell.ts';
import { type Column, emptyState, names, numbers } from '../view/table.ts';

/** Most requests that are listed: those that run longest. */
const max_rows = 200;

/** What runs now in all processes of the server, with what ends it. */
export const inFlightPage: Page = { name: 'in-flight', get: shown, post: cancel };

/** Pause between two looks at what runs. */
const every_ms = 2000;

/** The stream of the list's script. */
export const inFlightLivePage: Page = {
  name: 'in-flight-live',
  streams: true,
  get: request =>
    request.services.live.serve(request, {
      every_ms,
      parts: async () => ({ 'in-flight': await listOf({ ...request, path: inFlightPage.name }) }),
    }),
};

async function listOf(request: PageRequest): Promise<Html> {
  const { context, scope } = request;
  const rows = await context.running.list(max_rows);
  const columns = columnsFor(context.clock.epoch_ms(), await keyNames(request, rows));
  const list = recordList(request, {
    label: 'Requests in flight, the longest first',
    columns: scope.may.cancel ? [...columns, cancelColumn] : columns,
    rows,
    empty: nothing,
    keyOf,
  });
  return html`${list}${rows.length === max_rows && html`<p class="muted">The ${max_rows} that run longest are listed.</p>`}`;
}

async function shown(request: PageRequest): Promise<PageResponse> {
  return pageResponse(request, {
    title: 'In flight',
    section: 'in-flight',
    scripts: ['copy.js', 'in-flight.js'],
    beside: html`<span id="live-state" class="muted" role="status"></span>`,
    body: html`<section class="panel lines" aria-label="Requests in flight">
${request.scope.may.cancel && html`<form method="post" action="in-flight" id="cancel">${tokenInput(request.form_token)}</form>`}
<div id="in-flight">${await listOf(request)}</div>
</section>
<p class="muted">Of this server: other instances list their own. Whole replies have their tokens at the end; streams as they come.</p>`,
  });
}

const nothing = emptyState(
  'Nothing runs now.',
  html`<a href="requests">Requests</a> that have ended are listed.`,
);

/** What tells a row from others, in the form as well. */
const keyOf = ({ started_ms, request_id }: RunningPlace): string => `${started_ms}_${request_id}`;

const columnsFor = (now_ms: number, keys: KeyNames): readonly Column<RunningExchange>[] => [
  {
    title: 'Runs for',
    cell: ({ started_ms }) => html`<span class="nowrap">${durationOf(now_ms - started_ms)}</span>`,
  },
  { title: 'Since', key: 'since', cell: ({ started_ms }) => secondOf(started_ms, now_ms) },
  { title: 'Request', key: 'request', cell: row => idText(`id-${keyOf(row)}`, row.request_id) },
  names('Account', ({ account }) => (account === undefined ? muted('none') : accountLink(account)), {
    key: 'account',
  }),
  names('Key', ({ key_id }) => key_id !== undefined && keyLink(key_id, keys), { key: 'key' }),
  names('Model', ({ model }) => model ?? muted('not read yet'), { key: 'model' }),
  names('Provider', providerOf, { key: 'provider' }),
  numbers(
    'Tokens out',
    ({ completion_tokens }) => (completion_tokens > 0 ? numberOf(completion_tokens) : '–'),
    {
      key: 'tokens',
    },
  ),
];

function providerOf({ provider, attempts, end_reason }: RunningExchange): Html {
  const name = provider === undefined ? muted('not asked yet') : html`${provider}`;
  return html`${name}${attempts > 1 && muted(` attempt ${attempts}`)}${end_reason && muted(` ends: ${end_reason}`)}`;
}

const cancelColumn: Column<RunningExchange> = {
  title: 'End it',
  cell: row =>
    html`<button class="danger" form="cancel" name="run" value="${keyOf(row)}" aria-label="Cancel ${row.request_id}">Cancel</button>`,
};

/** Ends one request. What has ended meanwhile is no error. */
async function cancel(request: PageRequest): Promise<PageResponse> {
  const { context, form, scope } = request;
  if (!scope.may.cancel)
    throw new PageError(403, 'Only admins may end requests.', 'Ask an administrator of this gateway.');
  // Those that ran longest when the page was made still do.
  const found = (await context.running.list(max_rows)).find(one => keyOf(one) === form.get('run'));
  if (!found) return changed(request, 'in-flight', 'It had ended already.');
  const { request_id, started_ms, account, model, provider } = found;
  // Recorded first: what cannot be recorded is not done.
  await context.records.store.audit.record(operatorOf(request), 'request.cancel', request_id, {
    account,
    model,
    provider,
    started_ms,
  });
  await context.running.cancel({ request_id, started_ms });
  return changed(
    request,
    'in-flight',
    `${request_id} was cancelled. Its row comes to the list of requests within seconds.`,
  );
}
