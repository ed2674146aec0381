import { checkNewAccount, max_display_name, NameTaken, rowOf } from '../../../src/plugin.ts';
import { type ListedAccount, presentMonth, withFigures } from '../account-figures.ts';
import { type AccountView, configuredAccount, givenAccount, storedAccount } from '../account-view.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import type { Scope } from '../scope.ts';
import { type RefusedForm, refusedField } from '../view/edited-fields.ts';
import { accountLink, countOf, dollars, linkOf, muted, numberOf, percentOf, timeOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { recordList, type Sorting, sortedBy, sortingOf } from '../view/list.ts';
import { listPage } from '../view/pager.ts';
import { searchForm, textField } from '../view/search-form.ts';
import { foldedPanel, inMemoryNotice, pageResponse, postForm } from '../view/shell.ts';
import { type Column, emptyState, names, numbers } from '../view/table.ts';
import { planSelect, refusedBy } from './account-forms.ts';
import { canInvite, faultOfName, invite, inviteField } from './account-people.ts';
import { nonceInput } from './issue-once.ts';

/** Accounts that are listed of the configuration, and of the application; the search finds the others. */
const max_elsewhere = 50;
/** Accounts that are sorted by their figures: all, or those that cost most, or without money have used most, in this month. */
const max_sorted = 500;

/** All accounts with what they cost and how near their limits they are, and the form that creates one. */
export const accountsPage: Page = { name: 'accounts', get: request => listed(request), post: create };

const by_name = { key: 'name', order: 'asc' } as const;

async function listed(request: PageRequest, refused?: RefusedForm): Promise<PageResponse> {
  const { context, query, scope } = request;
  const search = query.get('search') ?? '';
  const columns = columnsFor(scope);
  const sorting = sortingOf(query, columns, by_name)!;
  const total = await context.records.store.accounts.count({ search });
  const { rows, pager, note } = await (sorting.key === 'name'
    ? byName(request, search)
    : byFigure(request, search, columns.find(({ key }) => key === sorting.key)!, sorting, total));
  const list = { label: 'Accounts', columns, rows, sorting, empty: nothing(search) };
  return pageResponse(request, {
    title: 'Accounts',
    section: 'accounts',
    fault: refused?.fault,
    body: html`${inMemoryNotice(request)}
${scope.may.changeAccounts && createForm(request, refused)}
${accountSearch(request, search)}
<section class="panel" aria-label="List of accounts">
${recordList(request, { ...list, pager: pager(total > 0 ? countOf(total, 'stored account') : undefined) })}
<p class="muted">${note} The share of a limit is that of the nearest one of a day, week or month or in total, by the ledger.</p>
</section>`,
  });
}

interface Listed {
  readonly rows: readonly ListedAccount[];
  readonly pager: (total?: string) => Html | undefined;
  /** Which accounts are sorted. */
  readonly note?: string;
}

/** A page of the accounts of the store, on the first one with those that are kept elsewhere before them. */
async function byName(request: PageRequest, search: string): Promise<Listed> {
  const { context, query, scope } = request;
  const { rows, pager } = await listPage(request, page =>
    context.records.store.accounts.list({ search, ...page }),
  );
  const isFirst = !query.has('after') && !query.has('before');
  const elsewhere = isFirst ? await accountsElsewhere(request, search) : [];
  const accounts = [...elsewhere, ...rows.map(storedAccount)];
  const note =
    elsewhere.length > 0 &&
    `Of the configuration and of the application at most ${max_elsewhere} each are listed, first.`;
  return { rows: await withFigures(context, accounts, scope.sees.money), pager, ...(note && { note }) };
}

/** A page of the accounts that are sorted by a figure. */
async function byFigure(
  request: PageRequest,
  search: string,
  { by }: Column<ListedAccount>,
  { order }: Sorting,
  total: number,
): Promise<Listed> {
  const { context, scope } = request;
  const isAll = total <= max_sorted;
  const found = isAll ? await allAccounts(request, search) : await largestAccounts(request, search);
  const all = sortedBy(await withFigures(context, found, scope.sees.money), by!, order);
  const { rows, pager } = await listPage(request, async ({ after, before, limit }) => {
    const at = all.findIndex(({ id }) => id === (before ?? after));
    return before === undefined
      ? all.slice(at + 1, at + 1 + limit)
      : all.slice(Math.max(0, at - limit), Math.max(0, at));
  });
  const note = `Sorted are the ${max_sorted} accounts that have ${scope.sees.money ? 'cost' : 'used'} most in this month.`;
  return { rows, pager, ...(!isAll && { note }) };
}

async function allAccounts(request: PageRequest, search: string): Promise<AccountView[]> {
  const { accounts } = request.context.records.store;
  const stored = await accounts.list({ search, limit: max_sorted });
  return [...(await accountsElsewhere(request, search)), ...stored.map(storedAccount)];
}

async function largestAccounts(request: PageRequest, search: string): Promise<AccountView[]> {
  const { context, scope } = request;
  const { accounts, usage } = context.records.store;
  const month = presentMonth(context.clock.epoch_ms());
  const order = scope.sees.money ? 'cost' : 'tokens';
  const largest = await usage.sum({ ...month, by: ['account'], order, limit: max_sorted });
  const ids = largest.map(({ account }) => account!);
  const stored = ids.length > 0 ? await accounts.lookUp(ids) : [];
  const known = new Map(stored.map(account => [account.id, storedAccount(account)]));
  const part = search.toLowerCase();
  return ids.flatMap(id => {
    const given = context.application?.lastGiven(id);
    const account = configuredAccount(context, id) ?? known.get(id) ?? (given && givenAccount(given));
    return account && `${id}\n${account.display_name}`.toLowerCase().includes(part) ? [account] : [];
  });
}

/** Accounts of the configuration, and those that the application has named lately, without those that stand elsewhere as well. */
async function accountsElsewhere({ context }: PageRequest, search: string): Promise<AccountView[]> {
  const part = search.toLowerCase();
  const ids = Object.keys(context.settings.accounts).filter(id => id.toLowerCase().includes(part));
  const configured = ids.slice(0, max_elsewhere).map(id => configuredAccount(context, id)!);
  const given = context.application?.given(search, max_elsewhere) ?? [];
  if (given.length === 0) return configured;
  const stored = await context.records.store.accounts.lookUp(given.map(({ id }) => id));
  const taken = new Set(stored.map(({ id }) => id));
  const own = given.filter(({ id }) => !taken.has(id) && !configuredAccount(context, id));
  return [...configured, ...own.map(givenAccount)];
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

const columnsFor = ({ sees }: Scope): readonly Column<ListedAccount>[] => [
  names('Account', ({ id, display_name }) => html`${accountLink(id)} ${muted(display_name)}`, {
    key: 'name',
    orders: ['asc'],
  }),
  ...(sees.money ? [costColumn] : []),
  numbers('Nearest limit', nearestLimit, { key: 'share', by: ({ nearest }) => nearest?.share }),
  {
    title: 'Last use',
    cell: ({ last_used_ms }) => (last_used_ms === undefined ? muted('unknown') : timeOf(last_used_ms)),
    key: 'used',
    by: ({ last_used_ms }) => last_used_ms,
    isNumber: true,
  },
  numbers(
    'Active keys',
    ({ id, active_keys = 0 }) =>
      html`<a href="${linkOf('keys', { account: id })}">${numberOf(active_keys)}</a>`,
    {
      key: 'keys',
      by: ({ active_keys }) => active_keys,
    },
  ),
  {
    title: 'State',
    cell: ({ disabled_ms }) =>
      disabled_ms === null
        ? html`<span class="state good">enabled</span>`
        : html`<span class="state bad">disabled</span>`,
    key: 'state',
  },
  names('Plan', ({ plan }) => plan ?? muted('none'), { key: 'plan' }),
  names('Kept in', ({ source }) => places[source], { key: 'source' }),
  names('Parent', ({ parent }) => (parent ? accountLink(parent) : muted('none')), {
    key: 'parent',
    isExtra: true,
  }),
  {
    title: 'Created',
    cell: ({ created_ms }) => created_ms !== undefined && timeOf(created_ms),
    key: 'created',
    by: ({ created_ms }) => created_ms,
    isExtra: true,
  },
];

const places = {
  configuration: 'From the configuration',
  store: '',
  application: 'From the application',
} as const;

const costColumn: Column<ListedAccount> = numbers('Cost this month', ({ cost_usd }) => dollars(cost_usd), {
  key: 'cost',
  by: ({ cost_usd }) => Number(cost_usd),
});

function nearestLimit({ id, nearest }: ListedAccount): Html {
  const href = linkOf('limits', { account: id });
  if (!nearest) return html`<a class="muted" href="${href}">no limit</a>`;
  const { limit, share } = nearest;
  const tone = share >= 0.9 ? 'bad' : share >= 0.7 ? 'warn' : '';
  return html`<a href="${href}" title="${rowOf(limit).title}">${tone ? html`<span class="state ${tone}">${percentOf(share)}</span>` : percentOf(share)}</a> <span class="muted">${rowOf(limit).title.toLowerCase()}</span>`;
}

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
