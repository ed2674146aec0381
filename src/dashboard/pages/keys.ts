import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { countOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { keyTable } from '../view/key-table.ts';
import { page_rows, pageOf, pager } from '../view/pager.ts';
import { pageResponse } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';
import { inMemoryNotice } from './in-memory-notice.ts';

/** The keys of all accounts, newest first. */
export const keysPage: Page = { name: 'keys', get: listed };

async function listed(request: PageRequest): Promise<PageResponse> {
  const { context, query } = request;
  const search = query.get('search') ?? '';
  const account = query.get('account') ?? '';
  const all = query.get('all') === 'yes';
  const after = query.get('after') ?? undefined;
  const now_ms = context.clock.epoch_ms();
  const { keys } = context.records.store;
  const asked = {
    ...(search && { search }),
    ...(account && { account }),
    ...(!all && { usable_at_ms: now_ms }),
  };
  const [rows, total] = await Promise.all([
    keys.list({ ...asked, ...(after !== undefined && { after }), limit: page_rows + 1 }),
    keys.count(asked),
  ]);
  const { shown, next } = pageOf(rows);
  return pageResponse(request, {
    title: 'Keys',
    section: 'keys',
    body: html`${inMemoryNotice(context)}
${searchForm(search, account, all)}
<section class="panel" aria-label="List of keys">
${shown.length === 0 ? nothing(Boolean(search || account), all) : keyTable('Keys', shown, now_ms, 'all')}
${pager({
  page: 'keys',
  query: { search, account, ...(all && { all: 'yes' }) },
  after,
  next,
  ...(total > 0 && { total: `${countOf(total, all ? 'key' : 'active key')}` }),
})}
</section>
<p class="muted">Keys of the configuration file are listed with their accounts.</p>`,
  });
}

function searchForm(search: string, account: string, all: boolean): Html {
  return html`<form method="get" action="keys" class="row panel" role="search">
<label>Search keys <input type="search" name="search" value="${search}" placeholder="name, id, account or last characters"></label>
<label>Account <input name="account" value="${account}" placeholder="any" autocomplete="off" spellcheck="false"></label>
<label class="check"><input type="checkbox" name="all" value="yes" ${all && html`checked`}> Also expired and revoked</label>
<button>Search</button>
</form>`;
}

function nothing(isSearched: boolean, all: boolean): Html {
  if (!isSearched)
    return emptyState(
      all ? 'No key has been issued yet.' : 'There are no active keys.',
      html`Choose an account under <a href="accounts">Accounts</a> and issue one for it.`,
    );
  return emptyState(
    'No key matches.',
    html`<a href="keys?all=yes">Show all keys</a>, also expired and revoked ones.`,
  );
}
