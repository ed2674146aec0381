import type { PageRequest } from '../page-request.ts';
import { tokenInput } from './document.ts';
import { type Html, html, type Part } from './html.ts';

/** The page that takes all forms which search. */
export const find_page = 'find';

/** The hidden field with the page that is searched. */
export const page_field = 'page';

/** What of a page's address its form leaves as it is: how the list is sorted, and its columns. */
const kept = ['sort', 'order', 'columns'];

/** In place of a page: what is typed may be the id of anything. */
export const anything = 'anything';

/** A form that searches `page`. It is sent by POST, because a secret may be pasted into any of its fields. */
export const searchForm = (
  { form_token, path, query }: PageRequest,
  page: string,
  fields: Part,
  { style = 'row panel', label = '' } = {},
): Html => html`<form method="post" action="${find_page}" class="${style}" role="search" ${label && html`aria-label="${label}"`}>
${tokenInput(form_token)}
<input type="hidden" name="${page_field}" value="${page}">
${path === page && kept.map(name => query.has(name) && html`<input type="hidden" name="${name}" value="${query.getAll(name).join(',')}">`)}
${fields}
</form>`;

interface TextField {
  readonly name: string;
  readonly value?: string | undefined;
  readonly placeholder: string;
  /** The id of a list of what is known. */
  readonly list?: string | undefined;
  readonly type?: 'text' | 'search';
  readonly required?: boolean;
}

/** A field for a name or an id, which browsers neither complete nor correct. */
export const textField = (
  title: string,
  { name, value = '', placeholder, list, type = 'text', required }: TextField,
): Html =>
  html`<label>${title} <input type="${type}" name="${name}" value="${value}" placeholder="${placeholder}" ${list && html`list="${list}"`} autocomplete="off" spellcheck="false" ${required && html`required`}></label>`;

/** What a text field of the same `list` offers. */
export const listOf = (id: string, values: readonly string[]): Html =>
  html`<datalist id="${id}">${values.map(value => html`<option value="${value}"></option>`)}</datalist>`;

/** A field for the first or the last day. */
export const dayField = (title: 'From' | 'To', value: string): Html =>
  html`<label>${title} <input type="date" name="${title.toLowerCase()}" value="${value}"></label>`;

/** Values with what they are called. */
export type Choices = Iterable<readonly [value: string, title: string]>;

/** The options of a selection. */
export const optionsOf = (choices: Choices, chosen: string): Html =>
  html`${[...choices].map(([value, title]) => html`<option value="${value}" ${value === chosen && html`selected`}>${title}</option>\n`)}`;

/** A field that takes one of some values. */
export const choiceField = (title: string, name: string, choices: Choices, chosen: string): Html =>
  html`<label>${title} <select name="${name}">${optionsOf(choices, chosen)}</select></label>`;
