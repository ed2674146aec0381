import { type AuditEntry, auditGroups } from '../../../src/plugin.ts';
import type { Role } from '../access/roles.ts';
import { type AuditFilters, auditFiltersOf, auditQueryOf } from '../audit-filters.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { auditColumns, customerColumns } from '../view/audit-table.ts';
import { linkOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { listPage } from '../view/pager.ts';
import { searchForm } from '../view/search-form.ts';
import { inMemoryNotice, pageResponse } from '../view/shell.ts';
import { type Column, emptyState, tableOf } from '../view/table.ts';

/** Who sees the audit log: it has amounts of money, which operators do not see. */
export const auditReaders: readonly Role[] = ['admin', 'viewer'];

/** Changes and sign-ins with their authors, newest first. */
export const auditPage: Page = { name: 'audit', get: listed, readers: auditReaders };

/** The changes of the reader's own account, without the names and the addresses of operators. */
export const historyPage: Page = { name: 'history', get: history };

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
    beside: html`<a class="button" href="${linkOf('audit-csv', { ...filters })}" download>Export CSV</a>`,
    body: html`${inMemoryNotice(request)}
${filterForm(request, filters)}
${changesPanel(auditColumns, rows, noChanges(filters, isFiltered), pager())}
<p class="muted">An export has the newest 20 000 entries that match. The command <code>sluice audit</code> has no such limit.</p>`,
  });
}

async function history(request: PageRequest): Promise<PageResponse> {
  const { audit } = request.context.records.store;
  const customers_of = request.scope.account!.id;
  const { rows, pager } = await listPage(request, page => audit.list({ ...page, customers_of }));
  const nothing = emptyState(
    'Nothing has been changed yet.',
    'Changes of keys and sign-ins appear here with who made them.',
  );
  return pageResponse(request, {
    title: 'History',
    section: 'history',
    body: changesPanel(customerColumns, rows, nothing, pager()),
  });
}

const changesPanel = (
  columns: readonly Column<AuditEntry>[],
  rows: readonly AuditEntry[],
  nothing: Html,
  pager: Part,
): Html => html`<section class="panel" aria-label="Changes">
${tableOf('Changes, newest first', columns, rows, nothing)}
${pager}
</section>`;

const groupTitles: Readonly<Record<string, string>> = {
  account: 'Accounts',
  key: 'Keys',
  customer: 'Customers',
  'sign-in': 'Sign-ins',
};

function filterForm(request: PageRequest, { who, action, target, from, to }: AuditFilters): Html {
  const option = (value: string, title: string) =>
    html`<option value="${value}" ${value === action && html`selected`}>${title}</option>\n`;
  const groups = [...auditGroups].map(
    ([group, ofGroup]) => html`<optgroup label="${groupTitles[group] ?? group}">
${option(group, `${groupTitles[group] ?? group}: all`)}${ofGroup.map(one => option(one, one))}</optgroup>\n`,
  );
  const fields = html`<label>Who <input name="who" value="${who}" placeholder="anybody" autocomplete="off" spellcheck="false"></label>
<label>Change <select name="action">${option('', 'any')}${groups}</select></label>
<label>Account or key <input name="target" value="${target}" placeholder="any" autocomplete="off" spellcheck="false"></label>
<label>From <input type="date" name="from" value="${from}"></label>
<label>To <input type="date" name="to" value="${to}"></label>
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
