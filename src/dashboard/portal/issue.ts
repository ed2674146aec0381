import { max_key_name } from '../../stores/records/key-record.ts';
import { lifetimes } from '../pages/issue.ts';
import { nonceInput } from '../pages/issued.ts';
import { type Html, html } from '../view/html.ts';
import { panel, postForm } from '../view/shell.ts';
import type { PortalRequest } from './portal-page.ts';

/** What was typed into the form that issues a key, and why it was refused. */
export interface RefusedKey {
  readonly fault: string;
  readonly name: string;
  readonly expires: string;
}

/** The form that issues a key. */
export function issuePanel(request: PortalRequest, refused?: RefusedKey): Html {
  const { name = '', expires = 'never' } = refused ?? {};
  const fields = html`<label>Name <input name="name" value="${name}" maxlength="${max_key_name}" placeholder="who or what uses it" autocomplete="off"></label>
<label>Expires <select name="expires">${[...lifetimes].map(
    ([value, { label }]) =>
      html`<option value="${value}" ${value === expires && html`selected`}>${label}</option>\n`,
  )}</select></label>
${nonceInput()}
<button class="primary">Issue key</button>`;
  return panel('issue', 'Issue a key', postForm(request, 'keys', fields, 'row'));
}

/** What the form asks for. */
export function wantedKey({ form }: PortalRequest): { name: string; ms: number | undefined } | RefusedKey {
  const name = (form.get('name') ?? '').trim();
  const expires = form.get('expires') ?? 'never';
  const lifetime = lifetimes.get(expires);
  if (name.length > max_key_name)
    return { name, expires, fault: `A name has ${max_key_name} characters at most.` };
  if (!lifetime) return { name, expires: 'never', fault: `“${expires}” is not a lifetime of keys.` };
  return { name, ms: lifetime.ms };
}
