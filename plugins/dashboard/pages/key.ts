import { type KeyChange, KeyEnded, type KeyRecord } from '../../../src/plugin.ts';
import { usesOfKey } from '../account-view.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { historyPanel } from '../view/audit-table.ts';
import type { RefusedForm } from '../view/edited-fields.ts';
import { accountLink, linkOf, timeOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { keyFields, readEditedKey } from '../view/key-fields.ts';
import { isUsable, stateOf } from '../view/key-table.ts';
import { limitBars } from '../view/limit-bars.ts';
import { inMemoryNotice, pageResponse, panel, postForm } from '../view/shell.ts';
import { keyUsePanel } from './use-panel.ts';

/** One key: its limits, its use, and what can be changed. */
export const keyPage: Page = {
  name: 'key',
  get: async request => shown(request, await keyOf(request)),
  post: change,
};

/** The key of the reader's scope that the address names. Throws the same PageError for a key of another account as for none. */
export async function keyOf(
  { context, query, scope }: PageRequest,
  id = query.get('id') ?? '',
): Promise<KeyRecord> {
  const found = await context.records.store.keys.find(id);
  if (found && (!scope.account || scope.account.id === found.account)) return found;
  throw new PageError(404, 'There is no such key.', 'Look for it in the list of keys.');
}

async function shown(request: PageRequest, key: KeyRecord, refused?: RefusedForm): Promise<PageResponse> {
  const { context, scope } = request;
  const { id, name } = key;
  const canChange = isUsable(key, context.clock.epoch_ms()) && scope.may.change;
  const [uses, use, history] = await Promise.all([
    usesOfKey(context, key),
    keyUsePanel(request, key),
    historyPanel(request, 'key', id),
  ]);
  return pageResponse(request, {
    title: name || id,
    section: 'keys',
    scripts: ['charts.js'],
    fault: refused?.fault,
    status: refused?.status,
    beside: canChange && actionsOf(id),
    body: html`${inMemoryNotice(request)}
<div class="columns">
${panel('limits', 'Current usage', uses === 'no limits' ? noLimits(request, key) : limitBars(uses, scope))}
${facts(request, key)}
</div>
${canChange && changePanel(request, key, refused)}
${use}
${history}`,
  });
}

/** Links to what can be done with a key. */
const actionsOf = (id: string): Html =>
  html`<span class="actions"><a class="button" href="${linkOf('rotate', { id })}">Rotate…</a>
<a class="button danger" href="${linkOf('revoke', { id })}">Revoke…</a></span>`;

const noLimits = ({ scope }: PageRequest, key: KeyRecord): Html =>
  html`<p class="muted">This key has no limits of its own. Those of ${scope.account ? 'your account' : html`the account ${accountLink(key.account)}`} hold.</p>`;

function facts({ context, scope }: PageRequest, key: KeyRecord): Html {
  const { id, hint, created_ms, expires_ms, revoked_ms, last_used_ms } = key;
  return panel(
    'facts',
    'Key',
    html`<dl>
<dt>Id</dt><dd><code>${id}</code></dd>
<dt>Ends with</dt><dd><code>…${hint}</code></dd>
${!scope.account && html`<dt>Account</dt><dd>${accountLink(key.account)}</dd>`}
<dt>State</dt><dd>${stateOf(key, context.clock.epoch_ms())}${revoked_ms !== null && html` ${timeOf(revoked_ms)}`}</dd>
<dt>Created</dt><dd>${timeOf(created_ms)}</dd>
<dt>Expires</dt><dd>${timeOf(expires_ms)}</dd>
<dt>Last used</dt><dd>${timeOf(last_used_ms)}</dd>
</dl>`,
  );
}

function changePanel(request: PageRequest, key: KeyRecord, refused: RefusedForm | undefined): Html {
  const fields = html`${keyFields({ key, seesMoney: request.scope.sees.money, refused })}
<button>Save changes</button>`;
  return panel(
    'change',
    'Change this key',
    postForm(request, linkOf('key', { id: key.id }), fields, 'stack'),
  );
}

async function change(request: PageRequest): Promise<PageResponse> {
  const { context, form, scope } = request;
  const { id } = await keyOf(request);
  const operator = operatorOf(request);
  let refused: RefusedForm | undefined;
  const wanted = (now: KeyRecord): KeyChange => {
    const read = readEditedKey(form, operator.at_ms, scope.sees.money, now);
    refused = 'refused' in read ? read.refused : undefined;
    return 'set' in read ? read.set : {};
  };
  const after = await context.records.store.keys.change(id, wanted, operator).catch(refuseEnded);
  if (refused) return shown(request, after, refused);
  const notice = 'The key is changed; every instance follows within 5 seconds.';
  return changed(request, linkOf('key', { id }), notice);
}

/** Throws a PageError for a key that can no longer be changed, and anything else as it is. */
export function refuseEnded(thrown: unknown): never {
  if (!(thrown instanceof KeyEnded)) throw thrown;
  throw new PageError(409, 'This key has expired or is revoked.', 'Issue another one.');
}
