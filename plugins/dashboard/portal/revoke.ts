import { changed, operatorOf, type Page } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { html } from '../view/html.ts';
import { nameColumn, timeColumns } from '../view/key-table.ts';
import { postForm } from '../view/shell.ts';
import { tableOf } from '../view/table.ts';
import { ownKey, type PortalRequest, portalPage, portalResponse } from './portal-page.ts';

/** Asks for confirmation and revokes a key. */
export const revokePage: Page = portalPage({ name: 'revoke', get: confirm, post: revoke });

async function confirm(request: PortalRequest): Promise<PageResponse> {
  const key = await ownKey(request);
  const { id, name, revoked_ms } = key;
  const buttons = html`<button class="danger primary">Revoke key</button> <a class="button" href="keys">Cancel</a>`;
  return portalResponse(request, {
    title: `Revoke ${name || id}?`,
    section: 'keys',
    body: html`<section class="panel" aria-label="The key">
${tableOf('The key to be revoked', [nameColumn, ...timeColumns], [key])}
${
  revoked_ms === null
    ? html`<p>Requests with this key are refused with 401 within 5 seconds. This cannot be undone.</p>
${postForm(request, linkOf('revoke', { id }), buttons, 'row')}`
    : html`<p class="notice warn">It was revoked at ${timeOf(revoked_ms)} already.</p><p><a href="keys">To your keys</a></p>`
}
</section>`,
  });
}

async function revoke(request: PortalRequest): Promise<PageResponse> {
  const { id, name } = await ownKey(request);
  await request.context.records.store.keys.revoke(id, operatorOf(request));
  return changed(request, 'keys', `${name || id} is revoked; it is refused within 5 seconds.`);
}
