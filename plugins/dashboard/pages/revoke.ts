import type { KeyRecord } from '../../../src/plugin.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { countOf, linkOf, timeOf } from '../view/format.ts';
import { html } from '../view/html.ts';
import { accountColumn, nameColumn, timeColumns } from '../view/key-table.ts';
import { page_rows } from '../view/pager.ts';
import { pageResponse, postForm } from '../view/shell.ts';
import { tableOf } from '../view/table.ts';
import { keyOf } from './key.ts';

/** Asks for confirmation and revokes one key, or several at once. */
export const revokePage: Page = {
  name: 'revoke',
  get: confirm,
  post: revoke,
  asksForChange: true,
};

async function confirm(request: PageRequest): Promise<PageResponse> {
  const keys = await keysOf(request);
  const action = `revoke?${new URLSearchParams(keys.map(({ id }): [string, string] => ['id', id]))}`;
  const revoked = keys.filter(({ revoked_ms }) => revoked_ms !== null);
  const title = nameOf(keys);
  const [verb, use] =
    keys.length === 1
      ? ['Revoke key', 'Requests with this key are']
      : ['Revoke all of them', 'Requests with these keys are'];
  return pageResponse(request, {
    title: `Revoke ${title}?`,
    section: 'keys',
    body: html`<section class="panel" aria-label="The keys">
${tableOf('Keys to be revoked', [nameColumn, ...(request.scope.account ? [] : [accountColumn]), ...timeColumns], keys)}
${revoked.map(({ id, revoked_ms }) => html`<p class="notice warn"><code>${id}</code> was revoked at ${timeOf(revoked_ms)} already.</p>`)}
${
  revoked.length < keys.length
    ? html`<p>${use} refused with 401 from then on, at every instance within 5 seconds. This cannot be undone.</p>
${postForm(request, action, html`<button class="danger primary">${verb}</button> <a class="button" href="${backOf(request, keys)}">Cancel</a>`, 'row')}`
    : html`<p><a href="${backOf(request, keys)}">Back</a></p>`
}
</section>`,
  });
}

async function revoke(request: PageRequest): Promise<PageResponse> {
  const keys = await keysOf(request);
  const ids = keys.map(({ id }) => id);
  await request.context.records.store.keys.revokeAll(ids, operatorOf(request));
  const notice =
    keys.length === 1
      ? `${nameOf(keys)} is revoked; every instance refuses it within 5 seconds.`
      : `${nameOf(keys)} are revoked; every instance refuses them within 5 seconds.`;
  return changed(request, backOf(request, keys), notice);
}

const nameOf = (keys: readonly KeyRecord[]): string =>
  keys.length === 1 ? keys[0]!.name || keys[0]!.id : countOf(keys.length, 'key');

const backOf = ({ scope }: PageRequest, keys: readonly KeyRecord[]): string =>
  keys.length === 1 && !scope.account ? linkOf('account', { id: keys[0]!.account }) : 'keys';

/** The keys of a page's query, at most those of one page of the list. */
async function keysOf(request: PageRequest): Promise<KeyRecord[]> {
  const ids = [...new Set(request.query.getAll('id'))];
  if (ids.length === 0) throw new PageError(422, 'No key is chosen.', 'Go back and choose one or more.');
  if (ids.length > page_rows) throw new PageError(422, `At most ${page_rows} keys are revoked at once.`);
  return Promise.all(ids.map(id => keyOf(request, id)));
}
