import { nonceInput } from '../pages/issued.ts';
import { type Html, html } from '../view/html.ts';
import { keyFields, type RefusedKey } from '../view/key-fields.ts';
import { panel, postForm } from '../view/shell.ts';
import type { PortalRequest } from './portal-page.ts';

/** The form that issues a key. */
export function issuePanel(request: PortalRequest, refused?: RefusedKey): Html {
  const fields = html`${keyFields({ seesMoney: true, refused })}
${nonceInput()}
<button class="primary">Issue key</button>`;
  return panel('issue', 'Issue a key', postForm(request, 'keys', fields, 'stack'));
}
