import type { KeyRecord } from '../../stores/records/key-records.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { html } from '../view/html.ts';
import { pageResponse, postForm } from '../view/shell.ts';

/** Asks for confirmation and revokes a key. */
export const revokePage: Page = { name: 'revoke', get: confirm, post: revoke };

async function confirm(request: PageRequest): Promise<PageResponse> {
  const { id, account, name, hint, created_ms, last_used_ms, revoked_ms } = await keyOf(request);
  const back = linkOf('account', { id: account });
  return pageResponse(request, {
    title: `Revoke ${name || id}?`,
    section: 'keys',
    body: html`<section class="panel" aria-label="The key">
<dl><dt>Key</dt><dd><code>${id} …${hint}</code></dd><dt>Account</dt><dd>${account}</dd>
<dt>Created</dt><dd>${timeOf(created_ms)}</dd><dt>Last used</dt><dd>${timeOf(last_used_ms)}</dd></dl>
${
  revoked_ms === null
    ? html`<p>Whatever uses this key is refused with 401 from then on, at every instance within 5 seconds. This cannot be undone.</p>
${postForm(request, linkOf('revoke', { id }), html`<button class="danger primary">Revoke key</button> <a class="button" href="${back}">Keep it</a>`, 'row')}`
    : html`<p class="notice warn">It was revoked at ${timeOf(revoked_ms)} already.</p><p><a href="${back}">To the account</a></p>`
}
</section>`,
  });
}

async function revoke(request: PageRequest): Promise<PageResponse> {
  const { id, name, account } = await keyOf(request);
  await request.context.records.store.keys.revoke(id, operatorOf(request));
  const notice = `${name || id} is revoked; every instance refuses it within 5 seconds.`;
  return changed(request, linkOf('account', { id: account }), notice);
}

/** The key of a page's query. Throws a PageError if there is none. */
export async function keyOf({ context, query }: PageRequest): Promise<KeyRecord> {
  const found = await context.records.store.keys.find(query.get('id') ?? '');
  if (found) return found;
  throw new PageError(404, 'There is no such key.', 'Look for it in the list of keys.');
}
