import type { PageRequest } from '../page-request.ts';
import { tokenInput } from './document.ts';
import { type Html, html, type Part } from './html.ts';

/** The page that takes all forms which search. */
export const find_page = 'find';

/** The hidden field with the page that is searched. */
export const page_field = 'page';

/** A form that searches `page`. It is sent by POST, because a secret may be pasted into any of its fields. */
export const searchForm = (
  { form_token }: Pick<PageRequest, 'form_token'>,
  page: string,
  fields: Part,
  { style = 'row panel', label = '' } = {},
): Html => html`<form method="post" action="${find_page}" class="${style}" role="search" ${label && html`aria-label="${label}"`}>
${tokenInput(form_token)}
<input type="hidden" name="${page_field}" value="${page}">
${fields}
</form>`;
