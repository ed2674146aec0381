import { day_ms, isKeyName, type KeyRecord, max_key_name } from '../../../src/plugin.ts';
import {
  conflict_fault,
  editedFields,
  type FieldTexts,
  type RefusedForm,
  refusedField,
  seenInput,
} from './edited-fields.ts';
import { minuteOf } from './format.ts';
import { type Html, html } from './html.ts';
import { keyLimitsFrom, type Limits, limitFields, limitTexts } from './limit-fields.ts';
import { optionsOf } from './search-form.ts';
import { epochOf, zoneName } from './time-zone.ts';

/** Lifetimes of a key that forms offer, beside an exact time. */
const lifetimes = new Map([
  ['never', { label: 'never', ms: undefined }],
  ['day', { label: 'in 24 hours', ms: day_ms }],
  ['week', { label: 'in 7 days', ms: 7 * day_ms }],
  ['month', { label: 'in 30 days', ms: 30 * day_ms }],
  ['quarter', { label: 'in 90 days', ms: 90 * day_ms }],
  ['year', { label: 'in 365 days', ms: 365 * day_ms }],
]);
const at_a_time = 'at';
const as_it_is = 'keep';

/** What the fields of a key say. */
type KeyFields = Pick<KeyRecord, 'name' | 'expires_ms' | 'limits'>;

interface KeyFieldsSetup {
  /** The key that is changed; undefined for a new one. */
  readonly key?: KeyFields | undefined;
  readonly seesMoney: boolean;
  readonly refused?: RefusedForm | undefined;
}

const no_limits: Limits = {};
const see_fields = 'Nothing was saved: see the fields below.';

/** The fields of a form that issues or changes a key: its name, its expiry, and its limits, folded where there are none. */
export function keyFields({ key, seesMoney, refused }: KeyFieldsSetup): Html {
  const limits = key?.limits ?? no_limits;
  const isOpen = Object.keys(limits).length > 0 || refused !== undefined;
  const fields = limitFields({ id: 'key-limit', limits, seesMoney, refused });
  return html`${key && seenInput(textsOf(key, seesMoney))}<div class="row">${nameField(key, refused)}${expiryFields(key, refused)}</div>
<details ${isOpen && html`open`}><summary>Limits of this key</summary>
<p class="muted">They hold beside those of the account, and never admit more than the account may use. Leave a field empty for no limit.</p>
${fields}</details>`;
}

function nameField(key: KeyFields | undefined, refused: RefusedForm | undefined): Html {
  const { value, attributes, fault } = refusedField(refused, 'name', key?.name ?? '');
  return html`<label>Name <input name="name" value="${value}" maxlength="${max_key_name}" placeholder="who or what uses it" autocomplete="off" ${attributes}></label>
${fault}`;
}

function expiryFields(key: KeyFields | undefined, refused: RefusedForm | undefined): Html {
  const { value, attributes, fault } = refusedField(refused, 'expires', key ? as_it_is : 'never');
  const kept = key && (key.expires_ms === null ? 'as it is: never' : `as it is: ${minuteOf(key.expires_ms)}`);
  const choices = [
    ...(kept ? [[as_it_is, kept] as const] : []),
    ...[...lifetimes].map(([name, { label }]) => [name, label] as const),
    [at_a_time, 'at an exact time'] as const,
  ];
  return html`<span class="expiry"><label>Expires <select name="expires" ${attributes}>
${optionsOf(choices, value)}</select></label>
<label class="exact">Time (${zoneName()}) <input type="datetime-local" name="expires_at" value="${refused?.form.get('expires_at') ?? ''}" ${attributes}></label></span>
${fault}`;
}

/** The key as the texts of its fields; the time of its end to the millisecond. */
const textsOf = ({ name, expires_ms, limits }: KeyFields, seesMoney: boolean): FieldTexts => ({
  name,
  expires: expires_ms === null ? 'never' : new Date(expires_ms).toISOString(),
  ...limitTexts(limits, seesMoney),
});

/** Reads what a form edits of a key as it is now, or what is wrong with it, such as that others have edited it as well. */
export function readEditedKey(
  sent: URLSearchParams,
  now_ms: number,
  seesMoney: boolean,
  key: KeyFields,
): ReturnType<typeof readKeyFields> {
  const given = new URLSearchParams(sent);
  if (given.get('expires') === as_it_is) given.delete('expires');
  const now = textsOf(key, seesMoney);
  const { form, conflicts } = editedFields(given, now);
  if (form.get('expires') === now.expires) form.set('expires', as_it_is);
  const read = readKeyFields(form, now_ms, seesMoney, key);
  if (conflicts.size === 0) return read;
  const faults = new Map([...('refused' in read ? read.refused.faults : []), ...conflicts]);
  return { refused: { form, faults, fault: conflict_fault, status: 409 } };
}

/** Reads these fields. What the form has no field for stays as in `key`. */
export function readKeyFields(
  form: URLSearchParams,
  now_ms: number,
  seesMoney: boolean,
  key?: KeyFields,
): { readonly set: KeyFields } | { readonly refused: RefusedForm } {
  const name = (form.get('name') ?? '').trim();
  const expires = expiryOf(form, now_ms, key);
  const limits = keyLimitsFrom(form, key?.limits ?? no_limits, seesMoney);
  const faults = new Map('faults' in limits ? limits.faults : []);
  if (!isKeyName(name))
    faults.set('name', `A name has ${max_key_name} characters at most, none of them control characters.`);
  if (typeof expires === 'string') faults.set('expires', expires);
  if (faults.size > 0 || typeof expires === 'string' || 'faults' in limits)
    return {
      refused: {
        form,
        faults,
        fault: faults.get('') ?? faults.get('name') ?? faults.get('expires') ?? see_fields,
      },
    };
  return { set: { name, expires_ms: expires, limits: limits.limits } };
}

/** When a key ends, in milliseconds since 1970; `null` for never, and text for a fault. */
function expiryOf(form: URLSearchParams, now_ms: number, key: KeyFields | undefined): number | null | string {
  const chosen = form.get('expires') ?? (key ? as_it_is : 'never');
  if (chosen === as_it_is && key) return key.expires_ms;
  if (chosen === at_a_time) return exactTime(form.get('expires_at') ?? '', now_ms);
  const lifetime = lifetimes.get(chosen);
  if (!lifetime) return `“${chosen}” is not a lifetime of keys.`;
  return lifetime.ms === undefined ? null : now_ms + lifetime.ms;
}

/** A time that a form has as a text, in milliseconds since 1970; text for a fault. */
export function exactTime(text: string, now_ms: number): number | string {
  const at_ms = epochOf(text);
  if (Number.isNaN(at_ms)) return `Enter a day and a time, such as 2027-01-31 18:00, in ${zoneName()}.`;
  return at_ms > now_ms ? at_ms : 'This time has passed already.';
}
