import type { KeyRecord } from '../../../src/plugin.ts';
import { type RefusedForm, refusedField } from './edited-fields.ts';
import { type Html, html } from './html.ts';
import { listOf } from './search-form.ts';

type Models = KeyRecord['models'] | undefined;

/** A list of models as it is typed; empty for all. */
export const modelsText = (models: Models): string => models?.join(', ') ?? '';

/** The list that was typed; null for all models, and the same as before where it was not edited. */
export function modelsFrom(form: URLSearchParams, before: KeyRecord['models']): KeyRecord['models'] {
  const typed = form.get('models')?.trim() ?? modelsText(before);
  if (typed === modelsText(before)) return before;
  const list = typed.split(/[\s,]+/).filter(Boolean);
  return list.length > 0 ? list : null;
}

/** The field of a list of models, which offers those of the catalog. */
export function modelsField(
  models: Models,
  known: readonly { readonly id: string }[],
  refused?: RefusedForm,
): Html {
  const { value, attributes, fault } = refusedField(refused, 'models', modelsText(models));
  return html`<label class="wide">Models <input name="models" value="${value}" maxlength="8000" list="known-models" placeholder="${models?.length === 0 ? 'none' : 'all'}" autocomplete="off" spellcheck="false" ${attributes}></label>${fault}
${listOf(
  'known-models',
  known.map(({ id }) => id),
)}`;
}
