import {
  type AuditEntry,
  type AuditQuery,
  actionsNamed,
  auditGroups,
  csvOf,
  day_ms,
  dayOf,
  isDay,
} from '../../../src/plugin.ts';
import type { Role } from '../access/roles.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { fileResponse, type PageResponse } from '../page-response.ts';
import { auditColumns } from '../view/audit-table.ts';
import { linkOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { type List, recordList } from '../view/list.ts';
import { listPage } from '../view/pager.ts';
import { dayField, optionsOf, searchForm, textField } from '../view/search-form.ts';
import { inMemoryNotice, pageResponse } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';
import { epochOf } from '../view/time-zone.ts';

/** Who sees the audit log: it has amounts of money, which operators do not see. */
const auditReaders: readonly Role[] = ['admin', 'viewer'];

/** Changes and sign-ins with their authors, newest first. */
export const auditPage: Page = { name: 'audit', get: listed, readers: auditReaders };

async function listed(request: PageRequest): Promise<PageResponse> {
  const { context, query } = request;
  const filters = auditFiltersOf(query);
  const asked = auditQueryOf(filters);
  const { rows, pager } = await listPage(request, page =>
    context.records.store.audit.list({ ...page, ...asked }),
  );
  const isFiltered = Object.values(filters).some(value => value !== '');
  return pageResponse(request, {
    title: 'Audit log',
    section: 'audit',
    body: html`${inMemoryNotice(request)}
${filterForm(request, filters)}
${changesPanel(request, {
  columns: auditColumns,
  rows,
  empty: noChanges(filters, isFiltered),
  csv: linkOf('audit-csv', { ...filters }),
  pager: pager(),
})}
<p class="muted">An export has the newest 20 000 entries that match. The command <code>sluice audit</code> has no such limit.</p>`,
  });
}

/** A panel with a page of changes. */
export const changesPanel = (request: PageRequest, list: Omit<List<AuditEntry>, 'label'>): Html =>
  html`<section class="panel" aria-label="Changes">
${recordList(request, { label: 'Changes, newest first', ...list })}
</section>`;

const groupTitles: Readonly<Record<string, string>> = {
  account: 'Accounts',
  key: 'Keys',
  'admin-key': 'Admin keys',
  customer: 'Customers',
  request: 'Requests',
  'sign-in': 'Sign-ins',
};

function filterForm(request: PageRequest, { who, action, target, from, to }: AuditFilters): Html {
  const groups = [...auditGroups].map(([group, ofGroup]) => {
    const title = groupTitles[group] ?? group;
    const choices = [[group, `${title}: all`] as const, ...ofGroup.map(one => [one, one] as const)];
    return html`<optgroup label="${title}">\n${optionsOf(choices, action)}</optgroup>\n`;
  });
  const fields = html`${textField('Who', { name: 'who', value: who, placeholder: 'anybody' })}
<label>Change <select name="action">${optionsOf([['', 'any']], action)}${groups}</select></label>
${textField('Account or key', { name: 'target', value: target, placeholder: 'any' })}
${dayField('From', from)}${dayField('To', to)}
<button class="primary">Show</button>`;
  return searchForm(request, 'audit', fields, { label: 'Filter the audit log' });
}

function noChanges({ target }: AuditFilters, isFiltered: boolean): Html {
  if (!isFiltered)
    return emptyState(
      'Nothing has been changed yet.',
      html`Accounts and keys are made under <a href="accounts">Accounts</a>; each change is written down here.`,
    );
  return emptyState(
    target ? `No change of “${target}” is recorded.` : 'No entry matches.',
    html`Give whole names and ids, or <a href="audit">show all entries</a>.`,
  );
}

/** The filters of the audit log, as they stand in the address. */
interface AuditFilters {
  readonly who: string;
  /** An action, or a group of them. */
  readonly action: string;
  readonly target: string;
  /** The first and the last day. */
  readonly from: string;
  readonly to: string;
}

/** The filters that an address has; what makes no sense is as if it were left out. */
function auditFiltersOf(query: URLSearchParams): AuditFilters {
  const given = (name: string) => (query.get(name) ?? '').trim();
  const action = given('action');
  const day = (name: string) => (isDay(given(name)) ? given(name) : '');
  return {
    who: given('who'),
    action: actionsNamed(action) ? action : '',
    target: given('target'),
    from: day('from'),
    to: day('to'),
  };
}

/** What of the audit log these filters show. */
const auditQueryOf = ({ who, action, target, from, to }: AuditFilters): Omit<AuditQuery, 'limit'> => ({
  actor: who || undefined,
  actions: actionsNamed(action),
  target: target || undefined,
  from_ms: from ? epochOf(`${from}T00:00`) : undefined,
  until_ms: to ? epochOf(`${dayOf(Date.parse(to) + day_ms)}T00:00`) : undefined,
});

/** Entries of a download, which is built in memory; the newest ones. */
const max_exported = 20_000;
/** Entries that are read at once. */
const batch = 1000;

/** Entries of the audit log as a file, with the filters of the page. */
export const auditExportPage: Page = { name: 'audit-csv', get: exported, readers: auditReaders };

async function exported({ context, query }: PageRequest): Promise<PageResponse> {
  const asked = auditQueryOf(auditFiltersOf(query));
  const entries: AuditEntry[] = [];
  for (;;) {
    const limit = Math.min(batch, max_exported - entries.length);
    const read = await context.records.store.audit.list({ ...asked, limit, after: entries.at(-1)?.id });
    entries.push(...read);
    if (read.length < batch || entries.length >= max_exported) break;
  }
  const lines = entries.map(({ at_ms, actor, address, action, target, detail }) => [
    new Date(at_ms).toISOString(),
    actor,
    address,
    action,
    target,
    detail,
  ]);
  const titles = ['time', 'who', 'from', 'action', 'target', 'detail'];
  return fileResponse('audit-log.csv', 'text/csv', `${csvOf([titles, ...lines])}\r\n`);
}
