import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { countOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { keyTable, usesOfKeys } from '../view/key-table.ts';
import { listPage } from '../view/pager.ts';
import { searchForm } from '../view/search-form.ts';
import { inMemoryNotice, pageResponse } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';

/** The keys of all accounts. */
export const keysPage: Page = { name: 'keys', get: listed };

const sorts = { newest: 'newest', used: 'last used', name: 'name' } as const;
type Sort = keyof typeof sorts;

const sortOf = (text: string | null): Sort =>
  text !== null && Object.hasOwn(sorts, text) ? (text as Sort) : 'newest';

async function listed(request: PageRequest): Promise<PageResponse> {
  const { context, query } = request;
  const search = query.get('search') ?? '';
  const account = query.get('account') ?? '';
  const all = query.get('all') === 'yes';
  const sort = sortOf(query.get('sort'));
  const now_ms = context.clock.epoch_ms();
  const { keys } = context.records.store;
  const asked = { search, account: account || undefined, usable_at_ms: all ? undefined : now_ms };
  const [{ rows, pager }, total] = await Promise.all([
    listPage(request, page => keys.list({ ...asked, sort, ...page })),
    keys.count(asked),
  ]);
  const uses = await usesOfKeys(request, rows);
  const { sees, may } = request.scope;
  const table = keyTable('Keys', rows, {
    now_ms,
    columns: 'all',
    uses,
    seesMoney: sees.money,
    mayChange: may.change,
    hasPages: true,
  });
  return pageResponse(request, {
    title: 'Keys',
    section: 'keys',
    body: html`${inMemoryNotice(context)}
${keySearch(request, search, account, all, sort)}
<section class="panel" aria-label="List of keys">
${rows.length === 0 ? nothing(Boolean(search || account), all) : may.change ? chooseForm(table) : table}
${pager(total > 0 ? countOf(total, all ? 'key' : 'active key') : undefined)}
</section>
<p class="muted">Keys of the configuration file are listed with their accounts.</p>`,
  });
}

function keySearch(request: PageRequest, search: string, account: string, all: boolean, sort: Sort): Html {
  const fields = html`<label>Search keys <input type="search" name="search" value="${search}" placeholder="name, id, account, end, or a whole key" autocomplete="off" spellcheck="false"></label>
<label>Account <input name="account" value="${account}" placeholder="any" autocomplete="off" spellcheck="false"></label>
<label>Sort by <select name="sort">${Object.entries(sorts).map(
    ([value, label]) =>
      html`<option value="${value}" ${value === sort && html`selected`}>${label}</option>\n`,
  )}</select></label>
<label class="check"><input type="checkbox" name="all" value="yes" ${all && html`checked`}> Also expired and revoked</label>
<button>Search</button>`;
  return searchForm(request, 'keys', fields);
}

/** Leads to the page that asks for confirmation; changes nothing by itself. */
const chooseForm = (table: Html): Html => html`<form method="get" action="revoke">
${table}
<p><button class="danger">Revoke chosen keys…</button></p>
</form>`;

function nothing(isSearched: boolean, all: boolean): Html {
  if (isSearched)
    return emptyState(
      'No key matches.',
      html`<a href="keys?all=yes">Show all keys</a>, also expired and revoked ones.`,
    );
  return emptyState(
    all ? 'No key has been issued yet.' : 'There are no active keys.',
    html`Choose an account under <a href="accounts">Accounts</a> and issue one for it.`,
  );
}
