import {
  hour_ms,
  type KeyChange,
  KeyEnded,
  type KeyRecord,
  rotatedExpiry,
  TooManyKeys,
} from '../../../src/plugin.ts';
import { changed, operatorOf, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { type RefusedForm, refusedField } from '../view/edited-fields.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { html, type Part } from '../view/html.ts';
import { keyFields, readEditedKey, settableBy } from '../view/key-fields.ts';
import { isUsable } from '../view/key-table.ts';
import { raisedLimits } from '../view/raise-form.ts';
import { optionsOf } from '../view/search-form.ts';
import { foldedPanel, postForm } from '../view/shell.ts';
import { issueOnce, nonceInput } from './issue-once.ts';

/** What can be done with a key, by the values of the buttons. */
type KeyAction = 'edit' | 'rotate' | 'revoke';

/** The forms that change, rotate and revoke a key, for those who may; folded but for the one that was sent or that `do` in the address names. */
export function keyForms(request: PageRequest, key: KeyRecord, refused?: RefusedForm): Part {
  const { context, scope, query } = request;
  if (!scope.may.change || key.revoked_ms !== null) return '';
  const { id } = key;
  const opened = refused ? (refused.form.get('change') ?? 'edit') : query.get('do');
  const form = (action: KeyAction, title: string, fields: Part, style: string) =>
    foldedPanel(action, title, postForm(request, linkOf('key', { id }), fields, style), opened === action);
  const of = (action: KeyAction) => (opened === action ? refused : undefined);
  const isLive = isUsable(key, context.clock.epoch_ms());
  return html`<div class="columns">${isLive && form('edit', 'Change this key', editFields(request, key, of('edit')), 'stack')}
${isLive && form('rotate', 'Rotate this key', rotateFields(request, key, of('rotate')), 'row')}
${form('revoke', 'Revoke this key', revokeFields, 'row')}</div>`;
}

const editFields = (request: PageRequest, key: KeyRecord, refused?: RefusedForm): Part =>
  html`${keyFields({ key, settable: settableBy(request), refused })}
<button name="change" value="edit">Save changes</button>`;

/** Times for which the old key goes on working. */
const overlaps = new Map([
  ['now', { label: 'at once', ms: 0 }],
  ['hour', { label: 'in 1 hour', ms: hour_ms }],
  ['day', { label: 'in 24 hours', ms: 24 * hour_ms }],
  ['week', { label: 'in 7 days', ms: 7 * 24 * hour_ms }],
]);

function rotateFields({ context }: PageRequest, key: KeyRecord, refused?: RefusedForm): Part {
  const { value, attributes, fault } = refusedField(refused, 'overlap', 'day');
  const choices = [...overlaps].map(([name, { label }]) => [name, label] as const);
  return html`<p>A new key is issued by the same name and with the same limits, of which it has used nothing. It expires: ${timeOf(rotatedExpiry(key, context.clock.epoch_ms()))}. Both keys work until the old one ends.</p>
<label>The old key ends <select name="overlap" ${attributes}>${optionsOf(choices, value)}</select></label>${fault}
${nonceInput()}
<button class="primary" name="change" value="rotate">Rotate key</button>`;
}

const revokeFields = html`<p>Requests with this key are refused with 401 from then on, at every instance within 5 seconds. This cannot be undone.</p>
<button class="danger primary" name="change" value="revoke">Revoke key</button>`;

type Shown = (request: PageRequest, key: KeyRecord, refused: RefusedForm) => Promise<PageResponse>;

/** Does with a key what its form asks for, or shows its page again with what was refused. */
export async function changeKey(request: PageRequest, key: KeyRecord, shown: Shown): Promise<PageResponse> {
  const action = request.form.get('change') ?? 'edit';
  try {
    if (action === 'edit' || action === 'raise' || action === 'end-raise')
      return await edit(request, key, shown);
    if (action === 'rotate') return await rotate(request, key, shown);
    if (action === 'revoke') return await revoke(request, key);
  } catch (thrown) {
    if (!(thrown instanceof KeyEnded)) throw thrown;
    throw new PageError(409, 'This key has expired or is revoked.', 'Issue another one.');
  }
  throw new PageError(400, 'This is not a form of the dashboard.');
}

async function edit(request: PageRequest, { id }: KeyRecord, shown: Shown): Promise<PageResponse> {
  const { context, form } = request;
  const operator = operatorOf(request);
  const isEdit = (form.get('change') ?? 'edit') === 'edit';
  let refused: RefusedForm | undefined;
  const wanted = (now: KeyRecord): KeyChange => {
    const read = isEdit
      ? readEditedKey(form, operator.at_ms, settableBy(request), now)
      : raisedLimits(request, now.limits);
    refused = 'refused' in read ? read.refused : undefined;
    return 'set' in read ? read.set : {};
  };
  const after = await context.records.store.keys.change(id, wanted, operator);
  if (refused) return shown(request, after, refused);
  const notice = 'The key is changed; every instance follows within 5 seconds.';
  return changed(request, linkOf('key', { id }), notice);
}

const too_many = 'You have reached the limit of active keys. Revoke one first, or let this one end at once.';

async function rotate(request: PageRequest, key: KeyRecord, shown: Shown): Promise<PageResponse> {
  const { context, form, scope } = request;
  const given = form.get('overlap') ?? '';
  const refuse = (fault: string) =>
    shown(request, key, { form, fault, faults: new Map([['overlap', fault]]) });
  const overlap = overlaps.get(given);
  if (!overlap) return refuse(`“${given}” is not a time at which the old key can end.`);
  const max_usable = scope.account && context.settings.portal.max_keys;
  const notice = `The key ${key.id} ends ${overlap.label}, or earlier if it expires before.`;
  try {
    const issued = await issueOnce(
      request,
      (operator, nonce) =>
        context.records.store.keys.rotate(key.id, overlap.ms, operator, { max_usable, nonce }),
      { notice },
    );
    return issued ?? (await refuse('This form has rotated the key already.'));
  } catch (thrown) {
    if (thrown instanceof TooManyKeys) return refuse(too_many);
    throw thrown;
  }
}

async function revoke(request: PageRequest, { id, name }: KeyRecord): Promise<PageResponse> {
  await request.context.records.store.keys.revoke(id, operatorOf(request));
  const notice = `${name || id} is revoked; every instance refuses it within 5 seconds.`;
  return changed(request, linkOf('key', { id }), notice);
}
