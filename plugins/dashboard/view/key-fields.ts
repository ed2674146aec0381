import {
  type AllowedTags,
  type Catalog,
  checkModels,
  day_ms,
  isKeyName,
  type KeyRecord,
  max_key_name,
  RecordRefused,
} from '../../../src/plugin.ts';
import type { PageRequest } from '../page-request.ts';
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
import { modelsField, modelsFrom, modelsText } from './model-fields.ts';
import { choiceField, optionsOf } from './search-form.ts';
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
type KeyFields = Pick<KeyRecord, 'name' | 'expires_ms' | 'limits' | 'models' | 'tags'>;

/** What a reader sets of keys. */
export interface Settable {
  readonly seesMoney: boolean;
  /** The models and tags to choose from, for operators: customers do not lift what was set for them. */
  readonly access?: { readonly catalog: Catalog; readonly tags: AllowedTags };
}

/** What the reader of a page sets of keys. */
export const settableBy = ({ scope, context: { catalog, settings } }: PageRequest): Settable => ({
  seesMoney: scope.sees.money,
  ...(scope.may.changeAccounts && { access: { catalog, tags: settings.tags ?? {} } }),
});

interface KeyFieldsSetup {
  /** The key that is changed; undefined for a new one. */
  readonly key?: KeyFields | undefined;
  readonly settable: Settable;
  readonly refused?: RefusedForm | undefined;
}

const no_limits: Limits = {};
const see_fields = 'Nothing was saved: see the fields below.';

/** The fields of a form that issues or changes a key: its name, its expiry, and its limits, folded where there are none. */
export function keyFields({ key, settable, refused }: KeyFieldsSetup): Html {
  const { seesMoney, access } = settable;
  const limits = key?.limits ?? no_limits;
  const isOpen = Object.keys(limits).length > 0 || refused !== undefined;
  const fields = limitFields({ id: 'key-limit', limits, seesMoney, refused });
  return html`${key && seenInput(textsOf(key, settable))}<div class="row">${nameField(key, refused)}${expiryFields(key, refused)}${access && tagFields(access.tags, key, refused)}</div>
${access && modelsField(key?.models, access.catalog.models, refused)}
<details ${isOpen && html`open`}><summary>Limits of this key</summary>
<p class="muted">They hold beside those of the account, and never admit more than the account may use. Leave a field empty for no limit.</p>
${fields}</details>`;
}

function nameField(key: KeyFields | undefined, refused: RefusedForm | undefined): Html {
  const { value, attributes, fault } = refusedField(refused, 'name', key?.name ?? '');
  return html`<label>Name <input name="name" value="${value}" maxlength="${max_key_name}" placeholder="who or what uses it" autocomplete="off" ${attributes}></label>
${fault}`;
}

/** A choice of the values of each tag. */
const tagFields = (tags: AllowedTags, key: KeyFields | undefined, refused: RefusedForm | undefined): Html[] =>
  Object.entries(tags).map(([name, values]) => {
    const { value, fault } = refusedField(refused, tagField(name), key?.tags[name] ?? '');
    const choices = [['', 'none'] as const, ...values.map(known => [known, known] as const)];
    return html`${choiceField(`Tag ${name}`, tagField(name), choices, value)}${fault}`;
  });

const tagField = (name: string): string => `tag.${name}`;

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
const textsOf = (
  { name, expires_ms, limits, models, tags }: KeyFields,
  { seesMoney, access }: Settable,
): FieldTexts => ({
  name,
  expires: expires_ms === null ? 'never' : new Date(expires_ms).toISOString(),
  ...limitTexts(limits, seesMoney),
  ...(access && { models: modelsText(models) }),
  ...Object.fromEntries(Object.keys(access?.tags ?? {}).map(tag => [tagField(tag), tags[tag] ?? ''])),
});

/** Reads what a form edits of a key as it is now, or what is wrong with it, such as that others have edited it as well. */
export function readEditedKey(
  sent: URLSearchParams,
  now_ms: number,
  settable: Settable,
  key: KeyFields,
): ReturnType<typeof readKeyFields> {
  const given = new URLSearchParams(sent);
  if (given.get('expires') === as_it_is) given.delete('expires');
  const now = textsOf(key, settable);
  const { form, conflicts } = editedFields(given, now);
  if (form.get('expires') === now.expires) form.set('expires', as_it_is);
  const read = readKeyFields(form, now_ms, settable, key);
  if (conflicts.size === 0) return read;
  const faults = new Map([...('refused' in read ? read.refused.faults : []), ...conflicts]);
  return { refused: { form, faults, fault: conflict_fault, status: 409 } };
}

/** Reads these fields. What the form has no field for stays as in `key`. */
export function readKeyFields(
  form: URLSearchParams,
  now_ms: number,
  settable: Settable,
  key?: KeyFields,
): { readonly set: KeyFields } | { readonly refused: RefusedForm } {
  const name = (form.get('name') ?? '').trim();
  const expires = expiryOf(form, now_ms, key);
  const limits = keyLimitsFrom(form, key?.limits ?? no_limits, settable.seesMoney);
  const faults = new Map('faults' in limits ? limits.faults : []);
  if (!isKeyName(name))
    faults.set('name', `A name has ${max_key_name} characters at most, none of them control characters.`);
  if (typeof expires === 'string') faults.set('expires', expires);
  const access = accessFrom(form, settable, key, faults);
  if (faults.size > 0 || typeof expires === 'string' || 'faults' in limits)
    return {
      refused: {
        form,
        faults,
        fault: faults.get('') ?? faults.get('name') ?? faults.get('expires') ?? see_fields,
      },
    };
  return { set: { name, expires_ms: expires, limits: limits.limits, ...access } };
}

/** Reads which models a key may use, and its tags: without fields they stay as they are. */
function accessFrom(
  form: URLSearchParams,
  { access }: Settable,
  { models = null, tags = {} }: Partial<KeyFields> = {},
  faults: Map<string, string>,
): Pick<KeyFields, 'models' | 'tags'> {
  if (!access) return { models, tags };
  const listed = modelsFrom(form, models);
  try {
    if (listed !== models) checkModels(access, listed);
  } catch (thrown) {
    if (!(thrown instanceof RecordRefused)) throw thrown;
    faults.set('models', `There is no such model: ${thrown.message}.`);
  }
  const chosen = Object.entries(access.tags).flatMap(([tag, values]) => {
    const value = form.get(tagField(tag)) ?? tags[tag] ?? '';
    if (value !== '' && !values.includes(value)) faults.set(tagField(tag), 'It is not one of the values.');
    return value === '' ? [] : [[tag, value] as const];
  });
  return { models: listed, tags: Object.fromEntries(chosen) };
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
