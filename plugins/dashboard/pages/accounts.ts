import { type AccountRecord, checkNewAccount, max_display_name, NameTaken } from '../../../src/plugin.ts';
import { type AccountView, configuredAccount, givenAccount } from '../account-view.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { type RefusedForm, refusedField } from '../view/edited-fields.ts';
import { accountLink, countOf, linkOf, muted, timeOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { listPage } from '../view/pager.ts';
import { searchForm, textField } from '../view/search-form.ts';
import { foldedPanel, inMemoryNotice, pageResponse, panel, postForm } from '../view/shell.ts';
import { type Column, emptyState, names, tableOf } from '../view/table.ts';
import { planSelect, refusedBy } from './account-forms.ts';
import { canInvite, faultOfName, invite, inviteField } from './account-people.ts';
import { nonceInput } from './issue-once.ts';

/** Accounts that are listed of the configuration, and of the application; the search finds the others. */
const max_configured = 50;

/** All accounts, and the form that creates one. */
export const accountsPage: Page = { name: 'accounts', get: listed, post: create };

async function listed(request: PageRequest, refused?: RefusedForm): Promise<PageResponse> {
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
    fault: refused?.fault,
    body: html`${inMemoryNotice(request)}
${request.scope.may.change && createForm(request, refused)}
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
  {
    title: 'Limits',
    cell: ({ id, limits }) =>
      html`<a href="${linkOf('limits', { account: id })}">${countOf(Object.keys(limits).length, 'override')}</a>`,
  },
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

/** Folded unless it was refused. */
function createForm(request: PageRequest, refused?: RefusedForm): Html {
  const id = refusedField(refused, 'id', '');
  const name = refusedField(refused, 'display_name', '');
  const fields = html`<label>Name <input name="id" value="${id.value}" required maxlength="128" autocomplete="off" spellcheck="false" ${id.attributes}></label>${id.fault}
<label>Display name <input name="display_name" value="${name.value}" maxlength="${max_display_name}" placeholder="optional" autocomplete="off" ${name.attributes}></label>${name.fault}
${planSelect(request, '', refused)}
${canInvite(request) && html`${inviteField('Invite to the portal', refused)}${nonceInput()}`}
<button class="primary">Create account</button>`;
  const form = postForm(request, 'accounts', fields, 'row');
  return foldedPanel('create', 'Create an account', form, refused !== undefined);
}

async function create(request: PageRequest): Promise<PageResponse> {
  const { context, form } = request;
  const text = (name: string) => (form.get(name) ?? '').trim();
  const id = text('id');
  const customer = canInvite(request) ? text('customer') : '';
  const account = { id, plan: text('plan') || null, display_name: text('display_name'), limits: {} };
  const fault = customer ? await faultOfName(request, id, customer) : undefined;
  if (fault !== undefined) return listed(request, { form, fault, faults: new Map([['customer', fault]]) });
  try {
    checkNewAccount(context, account);
    await context.records.store.accounts.create(account, operatorOf(request));
  } catch (thrown) {
    return listed(request, refusedBy(thrown, form));
  }
  try {
    const invited = customer ? await invite(request, id, customer) : undefined;
    if (invited) return invited;
  } catch (thrown) {
    if (!(thrown instanceof NameTaken)) throw thrown;
    const told = `Account ${id} is created. Nobody is invited: the name ${customer} is taken.`;
    return changed(request, linkOf('people', { account: id }), told);
  }
  return changed(
    request,
    linkOf('keys', { account: id }),
    `Account ${id} is created. Issue a key for it below.`,
  );
}
