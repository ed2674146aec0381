import { type AccountView, findAccount } from '../account-view.ts';
import type { PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import type { RefusedForm } from '../view/edited-fields.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { html, type Part } from '../view/html.ts';
import { inMemoryNotice, type PageParts, pageResponse } from '../view/shell.ts';

/** The parts of an account, each a page; customers have them in the navigation. */
const tabs = [
  { page: 'account', label: 'Overview' },
  { page: 'limits', label: 'Limits' },
  { page: 'keys', label: 'Keys' },
  { page: 'people', label: 'People' },
  { page: 'history', label: 'History' },
] as const;

type Tab = (typeof tabs)[number]['page'];

/** The address of a part of an account, for readers of this scope. */
export function tabLink({ scope }: PageRequest, tab: Tab, id: string): string {
  if (scope.account) return tab === 'account' ? '.' : tab;
  return linkOf(tab, tab === 'account' ? { id } : { account: id });
}

/** The reader's account, or the one that an operator's address names. Throws a PageError for none. */
export async function accountOf({ context, query, scope }: PageRequest): Promise<AccountView> {
  const id = query.get('account') ?? query.get('id') ?? '';
  const found = scope.account ?? (await findAccount(context, id));
  if (found) return found;
  throw new PageError(404, `There is no account “${id}”.`, 'Look for it in the list of accounts.');
}

/** A page about a part of an account: for operators below its name, beside the other parts. */
export function accountResponse(
  request: PageRequest,
  account: AccountView,
  {
    tab,
    body,
    refused,
    ...others
  }: Omit<PageParts, 'title' | 'section' | 'fault' | 'status'> & {
    readonly tab: Tab;
    /** The form of the page that is shown again. */
    readonly refused?: RefusedForm | undefined;
  },
): PageResponse {
  const { scope } = request;
  const parts = { ...others, fault: refused?.fault, status: refused?.status };
  const { id, display_name } = account;
  const { label } = tabs.find(({ page }) => page === tab)!;
  const name = display_name && !scope.account ? `${id} · ${display_name}` : display_name || id;
  if (scope.account) {
    const [title, section] = tab === 'account' ? [name, ''] : [label, tab];
    return pageResponse(request, { ...parts, title, section, body });
  }
  const links = tabs.map(
    ({ page, label }) =>
      html`<a href="${tabLink(request, page, id)}" ${page === tab && html`aria-current="page"`}>${label}</a>`,
  );
  return pageResponse(request, {
    ...parts,
    title: name,
    section: 'accounts',
    body: html`<nav class="parts" aria-label="Parts of the account">${links}</nav>
${inMemoryNotice(request)}${disabledNotice(account, tab)}
${body}`,
  });
}

const disabledNotice = ({ id, disabled_ms }: AccountView, tab: Tab): Part =>
  disabled_ms !== null &&
  html`<p class="notice bad">Disabled since ${timeOf(disabled_ms)}: its requests are answered 403. ${tab === 'account' ? 'Enable it at the end of this page.' : html`<a href="${linkOf('account', { id })}#state">Enable it</a>`}</p>`;
