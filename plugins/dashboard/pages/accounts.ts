import { type AccountRecord, checkNewAccount, max_display_name } from '../../../src/plugin.ts';
import { type AccountView, configuredAccount, givenAccount } from '../account-view.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { accountLink, countOf, linkOf, muted, timeOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { listPage } from '../view/pager.ts';
import { searchForm, textField } from '../view/search-form.ts';
import { inMemoryNotice, pageResponse, panel, postForm } from '../view/shell.ts';
import { type Column, emptyState, names, tableOf } from '../view/table.ts';
import { faultOf, planSelect } from './account-forms.ts';

/** Accounts that are listed of the configuration, and of the application; the search finds the others. */
const max_configured = 50;

/** All accounts, and the form that creates one. */
export const accountsPage: Page = { name: 'accounts', get: listed, post: create };

/** The form that creates an account, as it was sent. */
interface Given {
  readonly id?: string;
  readonly plan?: string | null;
  readonly display_name?: string;
  readonly fault?: string;
}

async function listed(request: PageRequest, typed: Given = {}): Promise<PageResponse> {
  const { context, query } = request;
  const search = query.get('search') ?? '';
  const { accounts } = context.records.store;
  const [{ rows, pager }, total] = await Promise.all([
    listPage(request, page => accounts.list({ search, ...page })),
    accounts.count({ search }),
  ]);
  const isFirst = !query.has('after') && !query.has('before');
  const configured = isFirst ? configuredMatching(request, search) : [];
  const given = isFirst ? await applicationMatching(request, search) : [];
  return pageResponse(request, {
    title: 'Accounts',
    section: 'accounts',
    fault: typed.fault,
    body: html`${inMemoryNotice(request)}
${request.scope.may.change && createForm(request, typed)}
${accountSearch(request, search)}
<section class="panel" aria-labelledby="stored"><h2 id="stored">Accounts</h2>
${tableOf('Accounts of the records store', storedColumns, rows, nothing(search))}
${pager(total > 0 ? countOf(total, 'account') : undefined)}
</section>
${configured.length > 0 && configuredPanel(configured)}
${given.length > 0 && applicationPanel(given)}`,
  });
}

const nothing = (search: string): Html =>
  search
    ? emptyState(`No account has “${search}” in its name.`, html`<a href="accounts">Show all accounts</a>`)
    : emptyState('There are no accounts here yet.', 'Create the first one above, then issue a key for it.');

const accountSearch = (request: PageRequest, search: string): Html =>
  searchForm(
    request,
    'accounts',
    html`${textField('Search accounts', { name: 'search', value: search, placeholder: 'a part of either name', type: 'search' })}
<button>Search</button>`,
  );

/** Columns for accounts of either source. */
const columns: readonly Column<
  Pick<AccountRecord | AccountView, 'id' | 'plan' | 'display_name' | 'disabled_ms'>
>[] = [
  names(
    'Account',
    ({ id, display_name, disabled_ms }) =>
      html`${accountLink(id)} ${muted(display_name)} ${disabled_ms !== null && html`<span class="state bad">disabled</span>`}`,
  ),
  names('Plan', ({ plan }) => plan ?? muted('none')),
];

const storedColumns: readonly Column<AccountRecord>[] = [
  ...columns,
  names('Parent', ({ parent }) => (parent ? accountLink(parent) : muted('none'))),
  { title: 'Overrides', cell: ({ limits }) => Object.keys(limits).length || muted('none') },
  { title: 'Created', cell: ({ created_ms }) => timeOf(created_ms) },
];

function configuredMatching({ context }: PageRequest, search: string): AccountView[] {
  const part = search.toLowerCase();
  const ids = Object.keys(context.settings.accounts).filter(id => id.toLowerCase().includes(part));
  return ids.slice(0, max_configured + 1).map(id => configuredAccount(context, id)!);
}

const configuredPanel = (configured: readonly AccountView[]): Html =>
  panel(
    'configured',
    'From the configuration',
    html`
<p class="muted">These are changed in the configuration file. Keys can be issued for them here.</p>
${tableOf('Accounts from the configuration', columns, configured.slice(0, max_configured))}
${configured.length > max_configured && html`<p class="muted">There are more: search for them by name.</p>`}
`,
  );

/** Accounts that the application has named lately, but those that stand elsewhere as well. */
async function applicationMatching({ context }: PageRequest, search: string): Promise<AccountView[]> {
  const given = context.application?.given(search, max_configured) ?? [];
  if (given.length === 0) return [];
  const ids = given.map(({ id }) => id);
  const stored = new Set((await context.records.store.accounts.lookUp(ids)).map(({ id }) => id));
  return given.filter(({ id }) => !stored.has(id) && !configuredAccount(context, id)).map(givenAccount);
}

const applicationPanel = (given: readonly AccountView[]): Html =>
  panel(
    'application',
    'From the application',
    html`
<p class="muted">Named in requests to this instance since it started, the last one first. The application keeps them itself.</p>
${tableOf('Accounts from the application', columns, given)}
`,
  );

function createForm(request: PageRequest, { id = '', plan, display_name = '' }: Given): Html {
  const fields = html`<label>Name <input name="id" value="${id}" required maxlength="128" autocomplete="off" spellcheck="false"></label>
<label>Display name <input name="display_name" value="${display_name}" maxlength="${max_display_name}" placeholder="optional" autocomplete="off"></label>
${planSelect(request, plan)}
<button class="primary">Create account</button>`;
  return panel('create', 'Create an account', html`\n${postForm(request, 'accounts', fields, 'row')}\n`);
}

async function create(request: PageRequest): Promise<PageResponse> {
  const { context, form } = request;
  const id = (form.get('id') ?? '').trim();
  const plan = form.get('plan') || null;
  const display_name = (form.get('display_name') ?? '').trim();
  const given = { id, plan, display_name };
  const account = { ...given, limits: {} };
  try {
    checkNewAccount(context, account);
    await context.records.store.accounts.create(account, operatorOf(request));
  } catch (thrown) {
    return listed(request, { ...given, fault: faultOf(thrown) });
  }
  return changed(request, linkOf('account', { id }), `Account ${id} is created. Issue a key for it below.`);
}
