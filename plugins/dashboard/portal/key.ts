import type { KeyRecord } from '../../../src/plugin.ts';
import { usesOfKey } from '../key-view.ts';
import type { Page } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { changeKey, changeKeyPanel, keyActions, keyFacts } from '../pages/key-parts.ts';
import { keyUsePanel } from '../pages/key-use.ts';
import { html } from '../view/html.ts';
import type { RefusedKey } from '../view/key-fields.ts';
import { isUsable } from '../view/key-table.ts';
import { panel } from '../view/shell.ts';
import { ownLimits } from './limits.ts';
import { ownKey, type PortalRequest, portalPage, portalResponse } from './portal-page.ts';

/** One key of the account: its limits, its use, and what can be changed. */
export const keyPage: Page = portalPage({
  name: 'key',
  get: async request => shown(request, await ownKey(request)),
  post: async request => {
    const key = await ownKey(request);
    return changeKey(request, key, (now, refused) => shown(request, now, refused));
  },
});

async function shown(request: PortalRequest, key: KeyRecord, refused?: RefusedKey): Promise<PageResponse> {
  const { account, context } = request;
  const { id, name } = key;
  const now_ms = context.clock.epoch_ms();
  const canChange = isUsable(key, now_ms) && account.disabled_ms === null;
  const [uses, use] = await Promise.all([usesOfKey(context, key), keyUsePanel(request, key)]);
  const limits =
    uses === 'no limits'
      ? html`<p class="muted">This key has no limits of its own. Those of your account hold.</p>`
      : ownLimits(uses);
  return portalResponse(request, {
    title: name || id,
    section: 'keys',
    scripts: ['charts.js'],
    fault: refused?.fault,
    status: refused?.status,
    beside: canChange && keyActions(id),
    body: html`<div class="columns">
${panel('limits', 'Current usage', limits)}
${keyFacts(key, now_ms)}
</div>
${canChange && changeKeyPanel(request, key, refused)}
${use}`,
  });
}
