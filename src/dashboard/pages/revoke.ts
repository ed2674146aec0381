import { NotThere } from '../../stores/records/account-records.ts';
import type { KeyRecord } from '../../stores/records/key-records.ts';
import { type Answer, redirect } from '../answer.ts';
import { operatorOf } from '../operator.ts';
import type { Page, Visit } from '../page-request.ts';
import { Refusal } from '../refusal.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { html } from '../view/html.ts';
import { pageAnswer, postForm } from '../view/shell.ts';

/** Asks before a key is revoked, and revokes it. */
export const revokePage: Page = { name: 'revoke', get: confirm, post: revoke };

async function confirm(visit: Visit): Promise<Answer> {
  const key = await keyOf(visit);
  const { id, account, name, hint, created_ms, last_used_ms, revoked_ms } = key;
  const back = linkOf('account', { id: account });
  return pageAnswer(visit, {
    title: `Revoke ${name || id}?`,
    section: 'keys',
    body: html`<section class="panel" aria-label="The key">
<dl><dt>Key</dt><dd><code>${id} …${hint}</code></dd><dt>Account</dt><dd>${account}</dd>
<dt>Created</dt><dd>${timeOf(created_ms)}</dd><dt>Last used</dt><dd>${last_used_ms === null ? 'never' : timeOf(last_used_ms)}</dd></dl>
${
  revoked_ms === null
    ? html`<p>Whatever uses this key is refused with 401 from then on, at every instance within 5 seconds. This cannot be undone.</p>
${postForm(visit, linkOf('revoke', { id }), html`<button class="danger primary">Revoke key</button> <a class="button" href="${back}">Keep it</a>`, 'row')}`
    : html`<p class="notice warn">It was revoked at ${timeOf(revoked_ms)} already.</p><p><a href="${back}">To the account</a></p>`
}
</section>`,
  });
}

async function revoke(visit: Visit): Promise<Answer> {
  const { desk, session } = visit;
  const { id, name, account } = await keyOf(visit);
  await desk.records.store.keys.revoke(id, operatorOf(visit)).catch((thrown): never => {
    throw thrown instanceof NotThere ? gone() : thrown;
  });
  await desk.records.refresh();
  session.notice = `${name || id} is revoked; every instance refuses it within 5 seconds.`;
  return redirect(linkOf('account', { id: account }));
}

async function keyOf({ desk, query }: Visit): Promise<KeyRecord> {
  const found = await desk.records.store.keys.find(query.get('id') ?? '');
  if (!found) throw gone();
  return found;
}

const gone = () => new Refusal(404, 'There is no such key.', 'Look for it in the list of keys.');
