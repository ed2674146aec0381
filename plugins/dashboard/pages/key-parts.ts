import { type KeyChange, KeyEnded, type KeyRecord } from '../../../src/plugin.ts';
import { changed, operatorOf, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { keyFields, type RefusedKey, readEditedKey } from '../view/key-fields.ts';
import { stateOf } from '../view/key-table.ts';
import { panel, postForm } from '../view/shell.ts';

/** Links to what can be done with a key. */
export const keyActions = (id: string): Html =>
  html`<span class="actions"><a class="button" href="${linkOf('rotate', { id })}">Rotate…</a>
<a class="button danger" href="${linkOf('revoke', { id })}">Revoke…</a></span>`;

/** What is known of a key; `account` is shown if it is given. */
export function keyFacts(key: KeyRecord, now_ms: number, account?: Part): Html {
  const { id, hint, created_ms, expires_ms, revoked_ms, last_used_ms } = key;
  return panel(
    'facts',
    'Key',
    html`<dl>
<dt>Id</dt><dd><code>${id}</code></dd>
<dt>Ends with</dt><dd><code>…${hint}</code></dd>
${account && html`<dt>Account</dt><dd>${account}</dd>`}
<dt>State</dt><dd>${stateOf(key, now_ms)}${revoked_ms !== null && html` ${timeOf(revoked_ms)}`}</dd>
<dt>Created</dt><dd>${timeOf(created_ms)}</dd>
<dt>Expires</dt><dd>${timeOf(expires_ms)}</dd>
<dt>Last used</dt><dd>${timeOf(last_used_ms)}</dd>
</dl>`,
  );
}

/** The form that changes a key. */
export function changeKeyPanel(request: PageRequest, key: KeyRecord, refused: RefusedKey | undefined): Html {
  const fields = html`${keyFields({ key, seesMoney: request.scope.sees.money, refused })}
<button>Save changes</button>`;
  return panel(
    'change',
    'Change this key',
    postForm(request, linkOf('key', { id: key.id }), fields, 'stack'),
  );
}

/** Changes a key as the form says and leads to its page, which is `shown` again if something is wrong. */
export async function changeKey(
  request: PageRequest,
  { id }: KeyRecord,
  shown: (key: KeyRecord, refused: RefusedKey) => Promise<PageResponse>,
): Promise<PageResponse> {
  const { context, form, scope } = request;
  const operator = operatorOf(request);
  let refused: RefusedKey | undefined;
  const wanted = (now: KeyRecord): KeyChange => {
    const read = readEditedKey(form, operator.at_ms, scope.sees.money, now);
    refused = 'refused' in read ? read.refused : undefined;
    return 'set' in read ? read.set : {};
  };
  const after = await context.records.store.keys.change(id, wanted, operator).catch(refuseEnded);
  if (refused) return shown(after, refused);
  const notice = 'The key is changed; every instance follows within 5 seconds.';
  return changed(request, linkOf('key', { id }), notice);
}

/** Throws a PageError for a key that can no longer be changed, and anything else as it is. */
export function refuseEnded(thrown: unknown): never {
  if (!(thrown instanceof KeyEnded)) throw thrown;
  throw new PageError(409, 'This key has expired or is revoked.', 'Issue another one.');
}
