import { htmlResponse, type PageResponse } from '../page-response.ts';
import { resumeDocument } from '../view/document.ts';
import { formTokenOf, token_field } from './cookies.ts';
import { nonce_field } from './issued-keys.ts';

/** Longest content of a form that is kept while its sender signs in again. */
const max_characters = 8192;

/** What was typed into a form, without what belongs to its session and without secrets; empty for nothing, or for too much. */
export function typedIn(form: URLSearchParams): string {
  const fields = [...form].filter(
    ([name]) => ![token_field, nonce_field, 'key'].includes(name) && !name.includes('password'),
  );
  const text = new URLSearchParams(fields).toString();
  return text.length <= max_characters ? text : '';
}

/** Shows what was typed into the form of `page`, to be sent in the session that has begun. */
export const resumed = (page: string, typed: string, token: string): PageResponse =>
  htmlResponse(200, resumeDocument(page, new URLSearchParams(typed), formTokenOf(token)));
