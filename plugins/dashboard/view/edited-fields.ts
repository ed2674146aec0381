import { type Html, html, type Part } from './html.ts';

/** The values of a record by the names of the fields that a form has for them, as texts. */
export type FieldTexts = Readonly<Record<string, string>>;

export const seen_field = 'seen';

/** Hidden field of a form with the values that it was shown with: what differs from them was edited. */
export const seenInput = (shown: FieldTexts): Html =>
  html`<input type="hidden" name="${seen_field}" value="${new URLSearchParams(shown).toString()}">`;

interface Edited {
  /** The form, with the present values in the fields that were not edited. */
  readonly form: URLSearchParams;
  /** What others have changed of the fields that were edited, in words by their names. */
  readonly conflicts: ReadonlyMap<string, string>;
}

/** What a form edits of a record that has the values `now`. A field that was not sent was not edited. */
export function editedFields(sent: URLSearchParams, now: FieldTexts): Edited {
  const seen = new URLSearchParams(sent.get(seen_field) ?? '');
  const form = new URLSearchParams(sent);
  const conflicts = new Map<string, string>();
  for (const [name, present] of Object.entries(now)) {
    const was = seen.get(name) ?? present;
    const typed = sent.get(name)?.trim() ?? was;
    if (typed === was) form.set(name, present);
    else if (was !== present && typed !== present)
      conflicts.set(name, `Changed meanwhile from ${quoted(was)} to ${quoted(present)}.`);
  }
  return { form, conflicts };
}

/** Whether a form was shown with other values than `now`. */
export function isOutdated(sent: URLSearchParams, now: FieldTexts): boolean {
  const seen = new URLSearchParams(sent.get(seen_field) ?? '');
  return Object.entries(now).some(([name, present]) => (seen.get(name) ?? present) !== present);
}

/** Said above a form with conflicts, which is shown again with what was typed and what is there now. */
export const conflict_fault =
  'Nothing was saved: what you edited was changed by another person meanwhile. Save again to put your values in place of theirs, or load the page again to keep theirs.';

const quoted = (text: string): string => (text === '' ? 'nothing' : `“${text}”`);

/** A form that was refused, to be shown again. */
export interface RefusedForm {
  /** For the whole form. */
  readonly fault: string;
  readonly status?: 409;
  /** The fields as they were sent. */
  readonly form: URLSearchParams;
  /** What is wrong with fields, by their names; `''` for what no field has. */
  readonly faults: ReadonlyMap<string, string>;
}

/** A field of a form that may have been refused: what stands in it, and what is said of it. */
export function refusedField(
  refused: RefusedForm | undefined,
  name: string,
  shown: string,
): { readonly value: string; readonly attributes: Part; readonly fault: Part } {
  const value = refused?.form.get(name) ?? shown;
  const said = refused?.faults.get(name);
  if (said === undefined) return { value, attributes: '', fault: '' };
  const id = `${name.replaceAll('_', '-')}-fault`;
  const attributes = html`aria-invalid="true" aria-describedby="${id}"`;
  return { value, attributes, fault: html`<span class="fault" id="${id}">${said}</span>` };
}
