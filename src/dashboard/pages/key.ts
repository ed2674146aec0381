import { KeyEnded, type KeyRecord } from '../../stores/records/key-record.ts';
import { mayChange, seesMoney } from '../access/roles.ts';
import { usesOfKey } from '../key-view.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { historyPanel } from '../view/audit-table.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { keyFields, type RefusedKey, readKeyFields } from '../view/key-fields.ts';
import { isUsable, stateOf } from '../view/key-table.ts';
import { limitBars } from '../view/limit-bars.ts';
import { inMemoryNotice, pageResponse, panel, postForm } from '../view/shell.ts';
import { keyUsePanel } from './key-use.ts';
import { keyOf } from './revoke.ts';

/** One key: its limits, its use, and what can be changed. */
export const keyPage: Page = {
  name: 'key',
  get: async request => shown(request, await keyOf(request)),
  post: change,
};

/** Changes that are shown; the audit log has all. */
const max_changes = 10;

async function shown(request: PageRequest, key: KeyRecord, refused?: RefusedKey): Promise<PageResponse> {
  const { context, session } = request;
  const { id, name } = key;
  const isMoneySeen = seesMoney(session.role);
  const now_ms = context.clock.epoch_ms();
  const canChange = isUsable(key, now_ms) && mayChange(session.role);
  const [uses, use, changes] = await Promise.all([
    usesOfKey(context, key),
    keyUsePanel(context, key, isMoneySeen),
    // Entries have amounts of money.
    context.records.store.audit.list({ target: id, limit: max_changes }),
  ]);
  return pageResponse(request, {
    title: name || id,
    section: 'keys',
    scripts: ['charts.js'],
    fault: refused?.fault,
    beside: canChange && actions(key),
    body: html`${inMemoryNotice(context)}
<div class="columns">
${panel('limits', 'Current usage', uses === 'no limits' ? noLimits(key) : limitBars(uses, isMoneySeen))}
${panel('facts', 'Key', facts(key, now_ms))}
</div>
${canChange && changePanel(request, key, refused)}
${use}
${historyPanel({ what: 'key', id, changes, role: session.role })}`,
  });
}

const actions = ({ id }: KeyRecord): Html =>
  html`<span class="actions"><a class="button" href="${linkOf('rotate', { id })}">Rotate…</a>
<a class="button danger" href="${linkOf('revoke', { id })}">Revoke…</a></span>`;

const noLimits = ({ account }: KeyRecord): Html =>
  html`<p class="muted">This key has no limits of its own. Those of the account <a href="${linkOf('account', { id: account })}">${account}</a> hold.</p>`;

function facts(key: KeyRecord, now_ms: number): Html {
  const { id, hint, account, created_ms, expires_ms, revoked_ms, last_used_ms } = key;
  return html`<dl>
<dt>Id</dt><dd><code>${id}</code></dd>
<dt>Ends with</dt><dd><code>…${hint}</code></dd>
<dt>Account</dt><dd><a href="${linkOf('account', { id: account })}">${account}</a></dd>
<dt>State</dt><dd>${stateOf(key, now_ms)}${revoked_ms !== null && html` ${timeOf(revoked_ms)}`}</dd>
<dt>Created</dt><dd>${timeOf(created_ms)}</dd>
<dt>Expires</dt><dd>${timeOf(expires_ms)}</dd>
<dt>Last used</dt><dd>${timeOf(last_used_ms)}</dd>
</dl>`;
}

function changePanel(request: PageRequest, key: KeyRecord, refused: RefusedKey | undefined): Part {
  const fields = html`${keyFields({ key, seesMoney: seesMoney(request.session.role), refused })}
<button>Save changes</button>`;
  return panel(
    'change',
    'Change this key',
    postForm(request, linkOf('key', { id: key.id }), fields, 'stack'),
  );
}

async function change(request: PageRequest): Promise<PageResponse> {
  const { context, form, session } = request;
  const key = await keyOf(request);
  const read = readKeyFields(form, context.clock.epoch_ms(), seesMoney(session.role), key);
  if ('refused' in read) return shown(request, key, read.refused);
  try {
    await context.records.store.keys.change(key.id, read.set, operatorOf(request));
  } catch (thrown) {
    if (!(thrown instanceof KeyEnded)) throw thrown;
    throw new PageError(409, 'This key has expired or is revoked.', 'Issue another one for its account.');
  }
  return changed(
    request,
    linkOf('key', { id: key.id }),
    'The key is changed; every instance follows within 5 seconds.',
  );
}
