import { digestOfKey, TooManyKeys } from '../../../src/plugin.ts';
import { type AccountView, findAccount } from '../account-view.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { accountField } from '../view/account-field.ts';
import { tokenInput } from '../view/document.ts';
import type { RefusedForm } from '../view/edited-fields.ts';
import { countOf, linkOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { keyFields, readKeyFields, settableBy } from '../view/key-fields.ts';
import { keyList } from '../view/key-table.ts';
import { listPage, page_rows } from '../view/pager.ts';
import { searchForm, textField } from '../view/search-form.ts';
import { foldedPanel, inMemoryNotice, pageResponse, panel, postForm } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';
import { accountResponse, tabLink } from './account-tabs.ts';
import { issueOnce, nonceInput } from './issue-once.ts';
import { noSuchKey } from './key.ts';

/** The keys of all accounts or of one, for which others are issued here. */
export const keysPage: Page = { name: 'keys', get: request => listed(request), post: change };

const sorts = ['newest', 'used', 'name'] as const;

interface KeyFilters {
  readonly search: string;
  readonly account: string;
  /** Also expired and revoked ones. */
  readonly all: boolean;
  readonly sort: (typeof sorts)[number];
}

function filtersOf({ query, scope }: PageRequest): KeyFilters {
  return {
    search: query.get('search') ?? '',
    account: scope.account?.id ?? query.get('account') ?? '',
    all: query.get('all') === 'yes',
    sort: sorts.find(name => name === query.get('sort')) ?? 'newest',
  };
}

async function listed(request: PageRequest, refused?: RefusedForm): Promise<PageResponse> {
  const { context, scope } = request;
  const filters = filtersOf(request);
  const { search, account, all, sort } = filters;
  const { keys } = context.records.store;
  const usable_at_ms = all ? undefined : context.clock.epoch_ms();
  const asked = { search, account: account || undefined, usable_at_ms };
  const [{ rows, pager }, total, chosen] = await Promise.all([
    listPage(request, page => keys.list({ ...asked, sort, ...page })),
    keys.count(asked),
    chosenAccount(request),
  ]);
  const list = await keyList(request, rows, {
    sorting: { key: sort, order: sort === 'name' ? 'asc' : 'desc' },
    pager: pager(total > 0 ? countOf(total, all ? 'key' : 'active key') : undefined),
    ofAccounts: !chosen,
    canChoose: scope.may.change,
  });
  const body = html`${chosen && issuePanel(request, chosen, total === 0, refused)}
${await keySearch(request, filters)}
<section class="panel" aria-labelledby="list"><h2 id="list">${all ? 'All keys' : 'Active keys'}</h2>
${rows.length === 0 ? nothing(request, filters) : html`${list}${scope.may.change && chooseForm(request)}`}
</section>
${chosen?.source === 'configuration' && !scope.account && configuredKeys(request, chosen.id)}`;
  if (chosen)
    return accountResponse(request, chosen, {
      tab: 'keys',
      scripts: ['accounts.js'],
      refused,
      body,
    });
  return pageResponse(request, {
    title: 'Keys',
    section: 'keys',
    scripts: ['accounts.js'],
    body: html`${inMemoryNotice(request)}${body}
<p class="muted">Keys of the configuration file are listed with their accounts.</p>`,
  });
}

/** Lists configured keys by the beginnings of their digests; the keys are in the configuration, and are removed there. */
function configuredKeys({ context }: PageRequest, id: string): Part {
  const digests = context.settings.accounts[id]!.keys.map(digestOfKey);
  return (
    digests.length > 0 &&
    panel(
      'configured',
      'Keys in the configuration',
      html`<ul>${digests.map(digest => html`<li>SHA-256 <code>${digest.slice(0, 12)}…</code></li>`)}</ul>
<p class="muted">They are added and removed in the configuration file.</p>`,
    )
  );
}

/** The reader's account, or the one that an operator has chosen. */
async function chosenAccount(request: PageRequest): Promise<AccountView | undefined> {
  const { account } = filtersOf(request);
  return request.scope.account ?? (account ? findAccount(request.context, account) : undefined);
}

async function keySearch(request: PageRequest, filters: KeyFilters): Promise<Html> {
  const fields = html`${textField('Search keys', { name: 'search', value: filters.search, placeholder: 'name, id, end, or a whole key', type: 'search' })}
${!request.scope.account && (await accountField(request, filters.account, 'any'))}
<label class="check"><input type="checkbox" name="all" value="yes" ${filters.all && html`checked`}> Also expired and revoked</label>
<button>Search</button>`;
  return searchForm(request, 'keys', fields);
}

/** A folded button that revokes the keys which are chosen in the list. */
const chooseForm = (request: PageRequest): Html =>
  html`<form method="post" action="${here(request)}" id="chosen">
${tokenInput(request.form_token)}
<details><summary>Revoke chosen keys…</summary>
<p>Requests with these keys are refused with 401 from then on, at every instance within 5 seconds. This cannot be undone.</p>
<p><button class="danger primary" name="change" value="revoke">Revoke chosen keys</button></p></details>
</form>`;

const here = ({ path, query }: PageRequest): string => linkOf(path, Object.fromEntries(query));

function nothing({ scope }: PageRequest, { search, account, all }: KeyFilters): Html {
  if (search || (account && !scope.account))
    return emptyState(
      'No key matches.',
      html`<a href="keys?all=yes">Show all keys</a>, also expired and revoked ones.`,
    );
  return emptyState(
    all ? 'No key has been issued yet.' : 'There are no active keys.',
    scope.account
      ? 'With a key your programs can send requests.'
      : html`Choose an account under <a href="accounts">Accounts</a> and issue one for it.`,
  );
}

/** The form that issues a key for an account, for those who may, folded once it has one. An application that keeps accounts itself would not find them by a key. */
function issuePanel(
  request: PageRequest,
  account: AccountView,
  isFirst: boolean,
  refused?: RefusedForm,
): Part {
  const { scope } = request;
  if (account.source === 'application')
    return emptyState(
      'Such an account has no keys here.',
      `The application keeps ${scope.account ? 'your' : 'the'} account itself and says with each request whose it is.`,
    );
  if (!scope.may.change) return '';
  const fields = html`${keyFields({ settable: settableBy(request), refused })}
${nonceInput()}
<button class="primary">Issue key</button>`;
  const form = postForm(request, tabLink(request, 'keys', account.id), fields, 'stack');
  return foldedPanel('issue', 'Issue a key', form, isFirst || refused !== undefined);
}

function change(request: PageRequest): Promise<PageResponse> {
  return request.form.get('change') === 'revoke' ? revokeChosen(request) : issue(request);
}

/** Revokes all of the chosen keys, or none. */
async function revokeChosen(request: PageRequest): Promise<PageResponse> {
  const { context, form, scope } = request;
  const { keys } = context.records.store;
  const ids = [...new Set(form.getAll('id'))];
  if (ids.length === 0) throw new PageError(422, 'No key is chosen.', 'Go back and choose one or more.');
  if (ids.length > page_rows) throw new PageError(422, `At most ${page_rows} keys are revoked at once.`);
  const found = await keys.named(ids);
  const isOfOthers = scope.account && found.some(({ account }) => account !== scope.account!.id);
  if (found.length < ids.length || isOfOthers) throw noSuchKey();
  await keys.revokeAll(ids, operatorOf(request));
  const told = `${countOf(ids.length, 'key is', 'keys are')} revoked; every instance refuses them within 5 seconds.`;
  return changed(request, here(request), told);
}

/** Issues a key and leads to the page that shows it, so that a reload issues no second one. */
async function issue(request: PageRequest): Promise<PageResponse> {
  const { context, form, scope } = request;
  const account = await chosenAccount(request);
  if (!account || account.source === 'application')
    throw scope.account
      ? new PageError(403, 'Your account has no keys here.')
      : new PageError(404, `There is no account “${filtersOf(request).account}”.`);
  const read = readKeyFields(form, context.clock.epoch_ms(), settableBy(request));
  if ('refused' in read) return listed(request, read.refused);
  const again = (fault: string) => listed(request, { form, faults: new Map(), fault });
  const max_usable = scope.account && context.settings.portal.max_keys;
  try {
    const issued = await issueOnce(request, (operator, nonce) =>
      context.records.store.keys.create({ account: account.id, ...read.set, max_usable, nonce }, operator),
    );
    return issued ?? again('This form has issued a key already. Send it again to issue another one.');
  } catch (thrown) {
    if (!(thrown instanceof TooManyKeys)) throw thrown;
    return again(
      `Your account has ${countOf(max_usable!, 'active key')}, which is the most. Revoke one first.`,
    );
  }
}
