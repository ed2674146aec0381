import type { PageRequest } from '../page-request.ts';
import { type Html, html } from './html.ts';
import { textField } from './search-form.ts';

/** Accounts that are offered at most. */
const max_offered = 20;

interface OfferedAccount {
  readonly id: string;
  readonly display_name: string;
}

/** Accounts with `part` in their id or display name: those of the configuration, of the records store and of the application, at most 20. */
export async function accountsLike(
  { settings, records, application }: PageRequest['context'],
  part: string,
): Promise<OfferedAccount[]> {
  const limit = max_offered;
  const stored = await records.store.accounts.list({ search: part, limit });
  const configured = Object.keys(settings.accounts).filter(id =>
    id.toLowerCase().includes(part.toLowerCase()),
  );
  const others = [...configured, ...(application?.given(part, limit) ?? []).map(({ id }) => id)];
  const all = [...others.map(id => ({ id, display_name: '' })), ...stored];
  const byId = new Map(all.map(({ id, display_name }) => [id, { id, display_name }]));
  return [...byId.values()].slice(0, limit);
}

/** A field for an account, which offers some, and with the script `accounts.js` those that are like what is typed. */
export async function accountField(
  { context }: PageRequest,
  value: string,
  placeholder: string,
): Promise<Html> {
  const offered = await accountsLike(context, value);
  return html`${textField('Account', { name: 'account', value, placeholder, list: 'accounts' })}
<datalist id="accounts">${offered.map(({ id, display_name }) => html`<option value="${id}">${display_name}</option>`)}</datalist>`;
}
