import { KeyEnded } from '../../stores/records/key-record.ts';
import { rotatedExpiry } from '../../stores/records/key-records.ts';
import { TooManyKeys } from '../../stores/records/new-key.ts';
import type { Page } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { issueOnce, nonceInput } from '../pages/issued.ts';
import { overlaps } from '../pages/rotate.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { html } from '../view/html.ts';
import { postForm } from '../view/shell.ts';
import { ownKey, type PortalRequest, portalPage, portalResponse } from './portal-page.ts';

/** Issues a key in place of another, which goes on working for a while. */
export const rotatePage: Page = portalPage({
  name: 'rotate',
  get: request => confirm(request),
  post: rotate,
});

async function confirm(request: PortalRequest, fault?: string, chosen = 'day'): Promise<PageResponse> {
  const { id, name, hint, created_ms, expires_ms, last_used_ms } = await ownKey(request);
  const now_ms = request.context.clock.epoch_ms();
  const fields = html`<label>The old key ends <select name="overlap">${[...overlaps].map(
    ([value, { label }]) =>
      html`<option value="${value}" ${value === chosen && html`selected`}>${label}</option>\n`,
  )}</select></label>
${nonceInput()}
<button class="primary">Rotate key</button> <a class="button" href="keys">Cancel</a>`;
  return portalResponse(request, {
    title: `Rotate ${name || id}?`,
    section: 'keys',
    fault,
    body: html`<section class="panel" aria-label="The key">
<dl><dt>Key</dt><dd><code>${id} …${hint}</code></dd>
<dt>Created</dt><dd>${timeOf(created_ms)}</dd><dt>Expires</dt><dd>${timeOf(expires_ms)}</dd><dt>Last used</dt><dd>${timeOf(last_used_ms)}</dd>
<dt>The new key expires</dt><dd>${timeOf(rotatedExpiry({ created_ms, expires_ms }, now_ms))}</dd></dl>
<p>You get a new key by the same name. Both keys work until the old one ends, so that you can put the new one in its place.</p>
${postForm(request, linkOf('rotate', { id }), fields, 'row')}
</section>`,
  });
}

async function rotate(request: PortalRequest): Promise<PageResponse> {
  const { id } = await ownKey(request);
  const given = request.form.get('overlap') ?? '';
  const overlap = overlaps.get(given);
  if (!overlap) return confirm(request, `“${given}” is not a time at which the old key can end.`);
  const { records, settings } = request.context;
  const { max_keys: max_usable } = settings.portal;
  const notice = `The key ${id} ends ${overlap.label}, or earlier if it expires before.`;
  try {
    const issued = await issueOnce(
      request,
      (operator, nonce) => records.store.keys.rotate(id, overlap.ms, operator, { max_usable, nonce }),
      notice,
    );
    return issued ?? confirm(request, 'This form has rotated the key already.', given);
  } catch (thrown) {
    if (thrown instanceof TooManyKeys)
      return confirm(
        request,
        'You have reached the limit of active keys. Revoke one first, or let this one end at once.',
        'now',
      );
    if (!(thrown instanceof KeyEnded)) throw thrown;
    throw new PageError(409, 'This key has expired or is revoked.', 'Issue another one.');
  }
}
