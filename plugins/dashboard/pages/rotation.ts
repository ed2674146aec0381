import { hour_ms, type KeyRecord, rotatedExpiry } from '../../../src/plugin.ts';
import type { PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { type PageParts, postForm } from '../view/shell.ts';
import { issueOnce, nonceInput } from './issued.ts';
import { refuseEnded } from './key-parts.ts';

/** Times for which the old key goes on working. */
const overlaps = new Map([
  ['now', { label: 'at once', ms: 0 }],
  ['hour', { label: 'in 1 hour', ms: hour_ms }],
  ['day', { label: 'in 24 hours', ms: 24 * hour_ms }],
  ['week', { label: 'in 7 days', ms: 7 * 24 * hour_ms }],
]);

interface Confirmation {
  /** The account, where it is not the reader's own. */
  readonly account?: Part;
  /** What the new key is. */
  readonly about: Part;
  readonly fault?: string | undefined;
  /** The overlap that is chosen. */
  readonly chosen?: string | undefined;
}

/** Asks when the old key is to end. */
export function rotationParts(request: PageRequest, key: KeyRecord, asked: Confirmation): PageParts {
  const { id, name, hint, created_ms, expires_ms, last_used_ms } = key;
  const { account, about, fault, chosen = 'day' } = asked;
  const now_ms = request.context.clock.epoch_ms();
  return {
    title: `Rotate ${name || id}?`,
    section: 'keys',
    fault,
    body: html`<section class="panel" aria-label="The key">
<dl><dt>Key</dt><dd><code>${id} …${hint}</code></dd>${account && html`<dt>Account</dt><dd>${account}</dd>`}
<dt>Created</dt><dd>${timeOf(created_ms)}</dd><dt>Expires</dt><dd>${timeOf(expires_ms)}</dd><dt>Last used</dt><dd>${timeOf(last_used_ms)}</dd>
<dt>The new key expires</dt><dd>${timeOf(rotatedExpiry({ created_ms, expires_ms }, now_ms))}</dd></dl>
<p>${about}</p>
${postForm(request, linkOf('rotate', { id }), fields(id, chosen), 'row')}
</section>`,
  };
}

const fields = (id: string, chosen: string): Html =>
  html`<label>The old key ends <select name="overlap">${[...overlaps].map(
    ([value, { label }]) =>
      html`<option value="${value}" ${value === chosen && html`selected`}>${label}</option>\n`,
  )}</select></label>
${nonceInput()}
<button class="primary">Rotate key</button> <a class="button" href="${linkOf('key', { id })}">Cancel</a>`;

/** Rotates a key as the form says, with at most `max_usable` keys of its account; `again` asks once more if something is wrong. */
export async function rotateKey(
  request: PageRequest,
  { id }: KeyRecord,
  again: (fault: string, chosen?: string) => PageResponse,
  max_usable?: number,
): Promise<PageResponse> {
  const given = request.form.get('overlap') ?? '';
  const overlap = overlaps.get(given);
  if (!overlap) return again(`“${given}” is not a time at which the old key can end.`);
  const { keys } = request.context.records.store;
  const notice = `The key ${id} ends ${overlap.label}, or earlier if it expires before.`;
  const issued = await issueOnce(
    request,
    (operator, nonce) => keys.rotate(id, overlap.ms, operator, { max_usable, nonce }),
    notice,
  ).catch(refuseEnded);
  return issued ?? again('This form has rotated the key already.', given);
}
