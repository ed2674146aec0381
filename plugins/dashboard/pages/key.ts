import type { KeyRecord } from '../../../src/plugin.ts';
import { usesOfKey } from '../account-view.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { historyPanel } from '../view/audit-table.ts';
import type { RefusedForm } from '../view/edited-fields.ts';
import { accountLink, linkOf, timeOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { isUsable, stateOf } from '../view/key-table.ts';
import { limitBars } from '../view/limit-bars.ts';
import { modelsText } from '../view/model-fields.ts';
import { raiseForms } from '../view/raise-form.ts';
import { inMemoryNotice, pageResponse, panel } from '../view/shell.ts';
import { tabLink } from './account-tabs.ts';
import { secretPart, takeKey } from './issue-once.ts';
import { changeKey, keyForms } from './key-forms.ts';
import { keyUsePanel } from './use-panel.ts';

/** One key: its text once it is issued, its limits, its use, and all that can be done with it. */
export const keyPage: Page = {
  name: 'key',
  get: async request => shown(request, await keyOf(request)),
  post: async request => changeKey(request, await keyOf(request), shown),
};

/** The key of the reader's scope that the address names. Throws the same PageError for a key of another account as for none. */
async function keyOf({ context, query, scope }: PageRequest): Promise<KeyRecord> {
  const found = await context.records.store.keys.find(query.get('id') ?? '');
  if (found && (!scope.account || scope.account.id === found.account)) return found;
  throw noSuchKey();
}

export const noSuchKey = () =>
  new PageError(404, 'There is no such key.', 'Look for it in the list of keys.');

async function shown(request: PageRequest, key: KeyRecord, refused?: RefusedForm): Promise<PageResponse> {
  const { context, scope } = request;
  const { id, name, account } = key;
  const canRaise = scope.may.change && isUsable(key, context.clock.epoch_ms());
  const [uses, use, history] = await Promise.all([
    usesOfKey(context, key),
    keyUsePanel(request, key),
    historyPanel(request, 'key', id),
  ]);
  return pageResponse(request, {
    title: name || id,
    section: 'keys',
    scripts: ['charts.js', 'copy.js', 'try-key.js'],
    fault: refused?.fault,
    status: refused?.status,
    beside: html`<a href="${tabLink(request, 'keys', account)}">All keys of ${scope.account ? 'your account' : account}</a>`,
    body: html`${inMemoryNotice(request)}${newSecret(request, key)}
<div class="columns">
${facts(request, key)}
${panel('limits', 'Current usage', uses === 'no limits' ? noLimits(request, key) : limitBars(uses, scope, use => canRaise && raiseForms(request, linkOf('key', { id }), use, refused)))}
</div>
${keyForms(request, key, refused)}
${use}
${history}`,
  });
}

/** The text of a key that has just been issued, once. */
function newSecret(request: PageRequest, { id }: KeyRecord): Part {
  const { query, scope } = request;
  if (!query.has('show')) return '';
  const secret = takeKey(request);
  if (!secret)
    return html`<p class="notice warn">A key is shown once, when it is issued, and this one has been.${scope.may.change && html` If it was lost, <a href="${linkOf('key', { id, do: 'rotate' })}">rotate it</a>.`}</p>`;
  const tried = html`<a class="button" href="playground" data-try="secret">Try it in the playground</a>`;
  return panel(
    'key',
    'The new key',
    html`<p>Copy it now: it cannot be shown again. Only its SHA-256 is kept.</p>
${secretPart(secret, 'key', tried)}`,
  );
}

const noLimits = (request: PageRequest, { account }: KeyRecord): Html =>
  html`<p class="muted">This key has no limits of its own. <a href="${tabLink(request, 'limits', account)}">Those of ${request.scope.account ? 'your account' : account}</a> hold.</p>`;

function facts({ context, scope }: PageRequest, key: KeyRecord): Html {
  const { id, hint, account, models, tags, created_ms, expires_ms, revoked_ms, last_used_ms } = key;
  return panel(
    'facts',
    'Key',
    html`<dl>
<dt>Id</dt><dd><code>${id}</code></dd>
<dt>Ends with</dt><dd><code>…${hint}</code></dd>
${!scope.account && html`<dt>Account</dt><dd>${accountLink(account)}</dd>`}
<dt>State</dt><dd>${stateOf(key, context.clock.epoch_ms())}${revoked_ms !== null && html` ${timeOf(revoked_ms)}`}</dd>
${models && html`<dt>Models</dt><dd>${modelsText(models) || 'none'}</dd>`}
${Object.entries(tags).map(([name, value]) => html`<dt>Tag ${name}</dt><dd>${value}</dd>`)}
<dt>Created</dt><dd>${timeOf(created_ms)}</dd>
<dt>Expires</dt><dd>${timeOf(expires_ms)}</dd>
<dt>Last used</dt><dd>${timeOf(last_used_ms)}</dd>
</dl>`,
  );
}
