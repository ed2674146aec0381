import { KeyEnded } from '../../stores/records/key-record.ts';
import { rotatedExpiry } from '../../stores/records/key-records.ts';
import { changers } from '../access/roles.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { html } from '../view/html.ts';
import { pageResponse, postForm } from '../view/shell.ts';
import { issueOnce, nonceInput } from './issued.ts';
import { keyOf } from './revoke.ts';

const hour_ms = 3_600_000;

/** Times for which the old key goes on working. */
export const overlaps = new Map([
  ['now', { label: 'at once', ms: 0 }],
  ['hour', { label: 'in 1 hour', ms: hour_ms }],
  ['day', { label: 'in 24 hours', ms: 24 * hour_ms }],
  ['week', { label: 'in 7 days', ms: 7 * 24 * hour_ms }],
]);

/** Issues a key in place of another, which goes on working for a while. */
export const rotatePage: Page = {
  name: 'rotate',
  get: request => confirm(request),
  post: rotate,
  readers: changers,
};

async function confirm(request: PageRequest, fault?: string, chosen = 'day'): Promise<PageResponse> {
  const { id, account, name, hint, created_ms, expires_ms, last_used_ms } = await keyOf(request);
  const now_ms = request.context.clock.epoch_ms();
  const fields = html`<label>The old key ends <select name="overlap">${[...overlaps].map(
    ([value, { label }]) =>
      html`<option value="${value}" ${value === chosen && html`selected`}>${label}</option>\n`,
  )}</select></label>
${nonceInput()}
<button class="primary">Rotate key</button> <a class="button" href="${linkOf('key', { id })}">Cancel</a>`;
  return pageResponse(request, {
    title: `Rotate ${name || id}?`,
    section: 'keys',
    fault,
    body: html`<section class="panel" aria-label="The key">
<dl><dt>Key</dt><dd><code>${id} …${hint}</code></dd><dt>Account</dt><dd>${account}</dd>
<dt>Created</dt><dd>${timeOf(created_ms)}</dd><dt>Expires</dt><dd>${timeOf(expires_ms)}</dd><dt>Last used</dt><dd>${timeOf(last_used_ms)}</dd>
<dt>The new key expires</dt><dd>${timeOf(rotatedExpiry({ created_ms, expires_ms }, now_ms))}</dd></dl>
<p>A new key is issued for the same account, by the same name and with the same limits, of which it has used nothing. Both keys work until the old one ends.</p>
${postForm(request, linkOf('rotate', { id }), fields, 'row')}
</section>`,
  });
}

async function rotate(request: PageRequest): Promise<PageResponse> {
  const { id } = await keyOf(request);
  const given = request.form.get('overlap') ?? '';
  const overlap = overlaps.get(given);
  if (!overlap) return confirm(request, `“${given}” is not a time at which the old key can end.`);
  const { keys } = request.context.records.store;
  const notice = `The key ${id} ends ${overlap.label}, or earlier if it expires before.`;
  try {
    const issued = await issueOnce(
      request,
      (operator, nonce) => keys.rotate(id, overlap.ms, operator, { nonce }),
      notice,
    );
    return issued ?? confirm(request, 'This form has rotated the key already.', given);
  } catch (thrown) {
    if (!(thrown instanceof KeyEnded)) throw thrown;
    throw new PageError(409, 'This key has expired or is revoked.', 'Issue another one for its account.');
  }
}
