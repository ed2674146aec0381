import { KeyEnded, type KeyRecord } from '../../stores/records/key-record.ts';
import { usesOfKey } from '../key-view.ts';
import { changed, operatorOf, type Page } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { keyUsePanel } from '../pages/key-use.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { keyFields, type RefusedKey, readKeyFields } from '../view/key-fields.ts';
import { isUsable, stateOf } from '../view/key-table.ts';
import { panel, postForm } from '../view/shell.ts';
import { ownLimits } from './limits.ts';
import { ownKey, type PortalRequest, portalPage, portalResponse } from './portal-page.ts';

/** One key of the account: its limits, its use, and what can be changed. */
export const keyPage: Page = portalPage({
  name: 'key',
  get: async request => shown(request, await ownKey(request)),
  post: change,
});

async function shown(request: PortalRequest, key: KeyRecord, refused?: RefusedKey): Promise<PageResponse> {
  const { account, context } = request;
  const { id, name } = key;
  const now_ms = context.clock.epoch_ms();
  const canChange = isUsable(key, now_ms) && account.disabled_ms === null;
  const [uses, use] = await Promise.all([usesOfKey(context, key), keyUsePanel(context, key, true)]);
  const limits =
    uses === 'no limits'
      ? html`<p class="muted">This key has no limits of its own. Those of your account hold.</p>`
      : ownLimits(uses);
  return portalResponse(request, {
    title: name || id,
    section: 'keys',
    scripts: ['charts.js'],
    fault: refused?.fault,
    beside: canChange && actions(id),
    body: html`<div class="columns">
${panel('limits', 'Current usage', limits)}
${panel('facts', 'Key', facts(key, now_ms))}
</div>
${canChange && changePanel(request, key, refused)}
${use}`,
  });
}

const actions = (id: string): Html =>
  html`<span class="actions"><a class="button" href="${linkOf('rotate', { id })}">Rotate…</a>
<a class="button danger" href="${linkOf('revoke', { id })}">Revoke…</a></span>`;

function facts(key: KeyRecord, now_ms: number): Html {
  const { id, hint, created_ms, expires_ms, revoked_ms, last_used_ms } = key;
  return html`<dl>
<dt>Id</dt><dd><code>${id}</code></dd>
<dt>Ends with</dt><dd><code>…${hint}</code></dd>
<dt>State</dt><dd>${stateOf(key, now_ms)}${revoked_ms !== null && html` ${timeOf(revoked_ms)}`}</dd>
<dt>Created</dt><dd>${timeOf(created_ms)}</dd>
<dt>Expires</dt><dd>${timeOf(expires_ms)}</dd>
<dt>Last used</dt><dd>${timeOf(last_used_ms)}</dd>
</dl>`;
}

function changePanel(request: PortalRequest, key: KeyRecord, refused: RefusedKey | undefined): Html {
  const fields = html`${keyFields({ key, seesMoney: true, refused })}
<button>Save changes</button>`;
  return panel(
    'change',
    'Change this key',
    postForm(request, linkOf('key', { id: key.id }), fields, 'stack'),
  );
}

async function change(request: PortalRequest): Promise<PageResponse> {
  const { context, form } = request;
  const key = await ownKey(request);
  const read = readKeyFields(form, context.clock.epoch_ms(), true, key);
  if ('refused' in read) return shown(request, key, read.refused);
  try {
    await context.records.store.keys.change(key.id, read.set, operatorOf(request));
  } catch (thrown) {
    if (!(thrown instanceof KeyEnded)) throw thrown;
    throw new PageError(409, 'This key has expired or is revoked.', 'Issue another one.');
  }
  return changed(request, linkOf('key', { id: key.id }), 'The key is changed within 5 seconds.');
}
