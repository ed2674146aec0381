import { type NoticeRecord, testNotice } from '../../../src/plugin.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { secondOf } from '../view/format.ts';
import { html, type Part } from '../view/html.ts';
import { recordList } from '../view/list.ts';
import { listPage } from '../view/pager.ts';
import { inMemoryNotice, pageResponse, panel, postForm } from '../view/shell.ts';
import { type Column, emptyState, names } from '../view/table.ts';

/** Notices with where they have gone, newest first; and a test. */
export const noticesPage: Page = { name: 'notices', get: listed, post: test, readers: ['admin'] };

async function listed(request: PageRequest): Promise<PageResponse> {
  const notices = noticesOf(request);
  const { rows, pager } = await listPage(request, page => notices.list(page));
  const empty = emptyState('Nothing has been told yet.', 'Send a test to see that everybody gets it.');
  return pageResponse(request, {
    title: 'Notices',
    section: 'notices',
    body: html`${inMemoryNotice(request)}
${panel('receivers', 'Receivers', receivers(request))}
${panel('told', 'Told', recordList(request, { label: 'Notices, newest first', columns: noticeColumns, rows, empty, pager: pager() }))}`,
  });
}

async function test(request: PageRequest): Promise<PageResponse> {
  const { actor, at_ms } = operatorOf(request);
  await noticesOf(request).add(testNotice(actor, at_ms));
  return changed(
    request,
    'notices',
    'A test is sent within seconds. Load this page again to see who has it.',
  );
}

function noticesOf({ context }: PageRequest) {
  const { notices } = context.records.store;
  if (!notices) throw new PageError(404, 'The records store keeps no notices.');
  return notices;
}

/** Addresses of webhooks may be secret, so they are named only. */
function receivers(request: PageRequest): Part {
  const { webhooks = {}, mail } = request.context.settings.notices ?? {};
  const all = [
    ...Object.keys(webhooks).map(name => html`webhook <code>${name}</code>`),
    ...(mail?.to ?? []).map(address => html`mail to <code>${address}</code>`),
    ...(mail?.customers ? [html`customers, by mail to the contacts of their accounts`] : []),
  ];
  if (all.length === 0)
    return html`<p class="muted">Nobody is told anything: name receivers under <code>notices</code> in the configuration.</p>`;
  return html`<ul>${all.map(one => html`<li>${one}</li>\n`)}</ul>
${postForm(request, 'notices', html`<button class="primary">Send a test</button>`, 'row')}`;
}

/** What a notice says: of a limit how much of it is used. */
const dataOf = ({ data }: NoticeRecord): Part =>
  data.used_percent === undefined
    ? html`<code>${JSON.stringify(data)}</code>`
    : `${data.title}: ${data.used_percent} % of ${data.max}`;

/** A notice with where it has gone. */
export const noticeColumns: readonly Column<NoticeRecord>[] = [
  { title: 'Time', cell: ({ created_ms }) => secondOf(created_ms) },
  { title: 'Type', cell: ({ type }) => html`<code>${type}</code>` },
  names('About', ({ subject }) => subject),
  names('Data', dataOf, { key: 'data' }),
  names('Receivers', ({ deliveries }) => deliveries.map(delivery => html`<div>${stateOf(delivery)}</div>`), {
    key: 'receivers',
  }),
];

function stateOf({ target, state, attempts, due_ms, fault }: NoticeRecord['deliveries'][number]): Part {
  const [kind, name = ''] = target.split(/:(.*)/s);
  const words = { sent: 'has it', failed: `given up: ${fault}`, waiting: 'waits' }[state];
  const next = state === 'waiting' && attempts > 0 && html`: ${fault}, next attempt ${secondOf(due_ms!)}`;
  return html`${kind} <code>${name}</code> ${words}${next}`;
}
