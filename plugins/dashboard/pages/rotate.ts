import { hour_ms, type KeyRecord, rotatedExpiry, TooManyKeys } from '../../../src/plugin.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { choiceField } from '../view/search-form.ts';
import { pageResponse, postForm } from '../view/shell.ts';
import { issueOnce, nonceInput } from './issued.ts';
import { keyOf, refuseEnded } from './key.ts';

/** Issues a key in place of another, which goes on working for a while. */
export const rotatePage: Page = {
  name: 'rotate',
  get: async request => confirm(request, await keyOf(request)),
  post: rotate,
  asksForChange: true,
};

/** Times for which the old key goes on working. */
const overlaps = new Map([
  ['now', { label: 'at once', ms: 0 }],
  ['hour', { label: 'in 1 hour', ms: hour_ms }],
  ['day', { label: 'in 24 hours', ms: 24 * hour_ms }],
  ['week', { label: 'in 7 days', ms: 7 * 24 * hour_ms }],
]);

/** Asks when the old key is to end. */
function confirm(request: PageRequest, key: KeyRecord, fault?: string, chosen = 'day'): PageResponse {
  const { context, scope } = request;
  const { id, account, name, hint, created_ms, expires_ms, last_used_ms } = key;
  return pageResponse(request, {
    title: `Rotate ${name || id}?`,
    section: 'keys',
    fault,
    body: html`<section class="panel" aria-label="The key">
<dl><dt>Key</dt><dd><code>${id} …${hint}</code></dd>${!scope.account && html`<dt>Account</dt><dd>${account}</dd>`}
<dt>Created</dt><dd>${timeOf(created_ms)}</dd><dt>Expires</dt><dd>${timeOf(expires_ms)}</dd><dt>Last used</dt><dd>${timeOf(last_used_ms)}</dd>
<dt>The new key expires</dt><dd>${timeOf(rotatedExpiry({ created_ms, expires_ms }, context.clock.epoch_ms()))}</dd></dl>
<p>A new key is issued for the same account, by the same name and with the same limits, of which it has used nothing. Both keys work until the old one ends.</p>
${postForm(request, linkOf('rotate', { id }), fields(id, chosen), 'row')}
</section>`,
  });
}

const fields = (id: string, chosen: string): Html =>
  html`${choiceField(
    'The old key ends',
    'overlap',
    [...overlaps].map(([value, { label }]) => [value, label]),
    chosen,
  )}
${nonceInput()}
<button class="primary">Rotate key</button> <a class="button" href="${linkOf('key', { id })}">Cancel</a>`;

const too_many = 'You have reached the limit of active keys. Revoke one first, or let this one end at once.';

async function rotate(request: PageRequest): Promise<PageResponse> {
  const { context, form, scope } = request;
  const key = await keyOf(request);
  const given = form.get('overlap') ?? '';
  const overlap = overlaps.get(given);
  if (!overlap) return confirm(request, key, `“${given}” is not a time at which the old key can end.`);
  const max_usable = scope.account && context.settings.portal.max_keys;
  const notice = `The key ${key.id} ends ${overlap.label}, or earlier if it expires before.`;
  try {
    const issued = await issueOnce(
      request,
      (operator, nonce) =>
        context.records.store.keys.rotate(key.id, overlap.ms, operator, { max_usable, nonce }),
      undefined,
      notice,
    );
    return issued ?? confirm(request, key, 'This form has rotated the key already.', given);
  } catch (thrown) {
    if (thrown instanceof TooManyKeys) return confirm(request, key, too_many, 'now');
    return refuseEnded(thrown);
  }
}
