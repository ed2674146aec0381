import type { KeyRecord } from '../../../src/plugin.ts';
import { usesOfKey } from '../key-view.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { historyPanel } from '../view/audit-table.ts';
import { linkOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import type { RefusedKey } from '../view/key-fields.ts';
import { isUsable } from '../view/key-table.ts';
import { limitBars } from '../view/limit-bars.ts';
import { inMemoryNotice, pageResponse, panel } from '../view/shell.ts';
import { changeKey, changeKeyPanel, keyActions, keyFacts } from './key-parts.ts';
import { keyUsePanel } from './key-use.ts';
import { keyOf } from './revoke.ts';

/** One key: its limits, its use, and what can be changed. */
export const keyPage: Page = {
  name: 'key',
  get: async request => shown(request, await keyOf(request)),
  post: async request => {
    const key = await keyOf(request);
    return changeKey(request, key, (now, refused) => shown(request, now, refused));
  },
};

/** Changes that are shown; the audit log has all. */
const max_changes = 10;

async function shown(request: PageRequest, key: KeyRecord, refused?: RefusedKey): Promise<PageResponse> {
  const { context, scope } = request;
  const { id, name } = key;
  const isMoneySeen = scope.sees.money;
  const now_ms = context.clock.epoch_ms();
  const canChange = isUsable(key, now_ms) && scope.may.change;
  const [uses, use, changes] = await Promise.all([
    usesOfKey(context, key),
    keyUsePanel(request, key),
    // Entries have amounts of money.
    context.records.store.audit.list({ target: id, limit: max_changes }),
  ]);
  return pageResponse(request, {
    title: name || id,
    section: 'keys',
    scripts: ['charts.js'],
    fault: refused?.fault,
    status: refused?.status,
    beside: canChange && keyActions(id),
    body: html`${inMemoryNotice(context)}
<div class="columns">
${panel('limits', 'Current usage', uses === 'no limits' ? noLimits(key) : limitBars(uses, isMoneySeen))}
${keyFacts(key, now_ms, accountLink(key))}
</div>
${canChange && changeKeyPanel(request, key, refused)}
${use}
${historyPanel({ what: 'key', id, changes, scope })}`,
  });
}

const accountLink = ({ account }: KeyRecord): Html =>
  html`<a href="${linkOf('account', { id: account })}">${account}</a>`;

const noLimits = (key: KeyRecord): Html =>
  html`<p class="muted">This key has no limits of its own. Those of the account ${accountLink(key)} hold.</p>`;
