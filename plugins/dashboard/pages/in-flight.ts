import type { RunningExchange } from '../../../src/plugin.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { accountLink, durationOf, linkOf, muted, numberOf, timeOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { pageResponse, postForm } from '../view/shell.ts';
import { type Column, emptyState, names, numbers, tableOf } from '../view/table.ts';

/** Most requests that are listed: those that run longest. */
const max_rows = 200;

/** What runs now in all processes of the server, with what ends it. */
export const inFlightPage: Page = { name: 'in-flight', get: shown, post: cancel };

async function shown(request: PageRequest): Promise<PageResponse> {
  const rows = await request.context.running.list(max_rows);
  return pageResponse(request, {
    title: 'In flight',
    section: 'in-flight',
    body: html`<section class="panel" aria-label="Requests in flight">
<div id="in-flight">${tableOf('Requests in flight, the longest first', columnsFor(request), rows, nothing)}</div>
</section>
<p class="muted">${rows.length === max_rows && `The ${max_rows} that run longest are listed. `}Of this server: other instances list their own. Whole replies have their tokens at the end; streams as they come.</p>`,
  });
}

const nothing = emptyState(
  'Nothing runs now.',
  html`<a href="requests">Requests</a> that have ended are listed.`,
);

const columnsFor = (request: PageRequest): readonly Column<RunningExchange>[] => {
  const now_ms = request.context.clock.epoch_ms();
  return [
    {
      title: 'Runs for',
      cell: ({ started_ms }) => html`<span class="nowrap">${durationOf(now_ms - started_ms)}</span>`,
    },
    { title: 'Since', cell: ({ started_ms }) => timeOf(started_ms) },
    names('Request', ({ request_id }) => html`<code>${request_id}</code>`),
    names('Account', ({ account }) => (account === undefined ? muted('none') : accountLink(account))),
    names(
      'Key',
      ({ key_id }) =>
        key_id !== undefined && html`<a href="${linkOf('key', { id: key_id })}"><code>${key_id}</code></a>`,
    ),
    names('Model', ({ model }) => model ?? muted('not read yet')),
    names('Provider', providerOf),
    numbers('Tokens out', ({ completion_tokens }) =>
      completion_tokens > 0 ? numberOf(completion_tokens) : '–',
    ),
    ...(request.scope.may.cancel ? [cancelColumn(request)] : []),
  ];
};

function providerOf({ provider, attempts, end_reason }: RunningExchange): Html {
  const name = provider === undefined ? muted('not asked yet') : html`${provider}`;
  return html`${name}${attempts > 1 && muted(` attempt ${attempts}`)}${end_reason && muted(` ends: ${end_reason}`)}`;
}

const cancelColumn = (request: PageRequest): Column<RunningExchange> => ({
  title: 'End it',
  cell: ({ request_id, started_ms }) =>
    postForm(
      request,
      'in-flight',
      html`<input type="hidden" name="id" value="${request_id}"><input type="hidden" name="started_ms" value="${started_ms}"><button class="danger" aria-label="Cancel ${request_id}">Cancel</button>`,
    ),
});

/** Ends one request. What has ended meanwhile is no error. */
async function cancel(request: PageRequest): Promise<PageResponse> {
  const { context, form, scope } = request;
  if (!scope.may.cancel)
    throw new PageError(403, 'Only admins may end requests.', 'Ask an administrator of this gateway.');
  const request_id = form.get('id') ?? '';
  const started_ms = Number(form.get('started_ms'));
  const isMeant = (one: RunningExchange) => one.request_id === request_id && one.started_ms === started_ms;
  const found = (await context.running.list(max_rows)).find(isMeant);
  if (!found) return changed(request, 'in-flight', `${request_id} had ended already.`);
  const { account, model, provider } = found;
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
