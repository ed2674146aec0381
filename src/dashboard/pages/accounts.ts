import { type AccountRecord, AlreadyThere, isAccountName } from '../../stores/records/account-records.ts';
import { type AccountView, configuredAccount } from '../account-view.ts';
import { operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { type PageResponse, redirect } from '../page-response.ts';
import { countOf, linkOf, timeOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { page_rows, pageOf, pager } from '../view/pager.ts';
import { pageResponse, postForm } from '../view/shell.ts';
import { type Column, emptyState, tableOf } from '../view/table.ts';
import { inMemoryNotice } from './in-memory-notice.ts';
import { planSelect } from './plan-select.ts';

/** Configured accounts that are listed; the search finds the others. */
const max_configured = 50;

/** All accounts, and the form that creates one. */
export const accountsPage: Page = {
  name: 'accounts',
  get: request => listed(request, {}),
  post: create,
};

interface Given {
  readonly id?: string;
  readonly plan?: string;
  readonly fault?: string;
}

async function listed(request: PageRequest, given: Given): Promise<PageResponse> {
  const { context, query } = request;
  const search = query.get('search') ?? '';
  const after = query.get('after') ?? undefined;
  const { accounts } = context.records.store;
  const asked = { ...(search && { search }) };
  const [rows, total] = await Promise.all([
    accounts.list({ ...asked, ...(after !== undefined && { after }), limit: page_rows + 1 }),
    accounts.count(asked),
  ]);
  const { shown, next } = pageOf(rows);
  const configured = after === undefined ? configuredMatching(request, search) : [];
  return pageResponse(request, {
    title: 'Accounts',
    section: 'accounts',
    fault: given.fault,
    body: html`${inMemoryNotice(context)}
${searchForm(search)}
<section class="panel" aria-labelledby="stored"><h2 id="stored">Accounts</h2>
${shown.length === 0 ? nothing(search) : tableOf('Accounts of the records store', storedColumns, shown)}
${pager({ page: 'accounts', query: { search }, after, next, total: total > 0 ? countOf(total, 'account') : undefined })}
</section>
${configured.length > 0 && configuredPanel(configured)}
${createForm(request, given)}`,
  });
}

const nothing = (search: string): Html =>
  search
    ? emptyState(`No account has “${search}” in its name.`, html`<a href="accounts">Show all accounts</a>`)
    : emptyState('There are no accounts here yet.', 'Create the first one below, then issue a key for it.');

const searchForm = (
  search: string,
): Html => html`<form method="get" action="accounts" class="row panel" role="search">
<label>Search accounts <input type="search" name="search" value="${search}" placeholder="a part of the name"></label>
<button>Search</button>
</form>`;

const link = (id: string): Html => html`<a href="${linkOf('account', { id })}">${id}</a>`;
const planName = (plan: string | null | undefined) => plan ?? html`<span class="muted">none</span>`;

const storedColumns: readonly Column<AccountRecord>[] = [
  { title: 'Account', cell: ({ id }) => link(id), isName: true },
  { title: 'Plan', cell: ({ plan }) => planName(plan), isName: true },
  {
    title: 'Overrides',
    cell: ({ limits }) => Object.keys(limits).length || html`<span class="muted">none</span>`,
  },
  { title: 'Created', cell: ({ created_ms }) => timeOf(created_ms) },
];

function configuredMatching({ context }: PageRequest, search: string): AccountView[] {
  const part = search.toLowerCase();
  const ids = Object.keys(context.settings.accounts).filter(id => id.toLowerCase().includes(part));
  return ids.slice(0, max_configured + 1).map(id => configuredAccount(context, id)!);
}

function configuredPanel(configured: readonly AccountView[]): Html {
  return html`<section class="panel" aria-labelledby="configured"><h2 id="configured">From the configuration</h2>
<p class="muted">These are changed in the configuration file. Keys can be issued for them here.</p>
${tableOf('Accounts from the configuration', configuredColumns, configured.slice(0, max_configured))}
${configured.length > max_configured && html`<p class="muted">There are more: search for them by name.</p>`}
</section>`;
}

const configuredColumns: readonly Column<AccountView>[] = [
  { title: 'Account', cell: ({ id }) => link(id), isName: true },
  { title: 'Plan', cell: ({ plan }) => planName(plan), isName: true },
];

function createForm(request: PageRequest, { id = '', plan = '' }: Given): Html {
  return html`<section class="panel" aria-labelledby="create"><h2 id="create">Create an account</h2>
${postForm(
  request,
  'accounts',
  html`<label>Name <input name="id" value="${id}" required maxlength="128" autocomplete="off" spellcheck="false"></label>
${planSelect(request.context, plan)}
<button class="primary">Create account</button>`,
  'row',
)}
</section>`;
}

async function create(request: PageRequest): Promise<PageResponse> {
  const { context, form, session } = request;
  const id = (form.get('id') ?? '').trim();
  const plan = form.get('plan') || null;
  const refused = (fault: string) => listed(request, { id, ...(plan !== null && { plan }), fault });
  if (!isAccountName(id))
    return refused(
      'A name begins with a letter or digit and has letters, digits and _ . @ : + - after it; 128 characters at most.',
    );
  if (plan !== null && !Object.hasOwn(context.settings.plans, plan))
    return refused(`There is no plan “${plan}” in the configuration.`);
  if (configuredAccount(context, id)) return refused(`The configuration has an account “${id}” already.`);
  try {
    await context.records.store.accounts.create({ id, plan, limits: {} }, operatorOf(request));
  } catch (thrown) {
    if (thrown instanceof AlreadyThere) return refused(`There is an account “${id}” already.`);
    throw thrown;
  }
  await context.records.refresh();
  session.notice = `Account ${id} is there. Issue a key for it below.`;
  return redirect(linkOf('account', { id }));
}
