import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { countOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { keyTable, usesOfKeys } from '../view/key-table.ts';
import { listPage } from '../view/pager.ts';
import { inMemoryNotice, pageResponse } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';

/** The keys of all accounts, newest first. */
export const keysPage: Page = { name: 'keys', get: listed };

async function listed(request: PageRequest): Promise<PageResponse> {
  const { context, query } = request;
  const search = query.get('search') ?? '';
  const account = query.get('account') ?? '';
  const all = query.get('all') === 'yes';
  const now_ms = context.clock.epoch_ms();
  const { keys } = context.records.store;
  const asked = { search, account: account || undefined, usable_at_ms: all ? undefined : now_ms };
  const [{ rows, pager }, total] = await Promise.all([
    listPage(request, page => keys.list({ ...asked, ...page })),
    keys.count(asked),
  ]);
  const uses = await usesOfKeys(request, rows);
  return pageResponse(request, {
    title: 'Keys',
    section: 'keys',
    body: html`${inMemoryNotice(context)}
${searchForm(search, account, all)}
<section class="panel" aria-label="List of keys">
${rows.length === 0 ? nothing(Boolean(search || account), all) : keyTable('Keys', rows, now_ms, 'all', uses)}
${pager(total > 0 ? countOf(total, all ? 'key' : 'active key') : undefined)}
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
