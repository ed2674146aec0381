import type { PageRequest } from '../page-request.ts';
import { linkOf, numberOf } from './format.ts';
import { type Html, html } from './html.ts';

/** Rows on a page of a list. */
export const page_rows = 50;

interface ListPage<R> {
  readonly rows: readonly R[];
  /** Links to the pages beside it and to the first; `total` is that of all pages as text, such as `3 keys`. */
  pager(total?: string): Html | undefined;
}

/** One of them is an id, or none for the first page. */
interface PageEdges {
  readonly limit: number;
  readonly after: string | undefined;
  readonly before: string | undefined;
}

/** Reads the page of a list that the request names; rows are found by the id of the last one before, or of the first one behind. */
export async function listPage<R extends { readonly id: string }>(
  { path, query }: PageRequest,
  read: (page: PageEdges) => Promise<readonly R[]>,
): Promise<ListPage<R>> {
  const { after, before, search } = placeOf(query);
  const isBack = before !== undefined;
  const found = await read({ limit: page_rows + 1, after, before });
  const rows = isBack ? found.slice(-page_rows) : found.slice(0, page_rows);
  const isMore = found.length > page_rows;
  const isFirst = isBack ? !isMore : after === undefined;
  const [first, last] = [rows[0], rows.at(-1)];
  const next = last && (isBack || isMore) && linkOf(path, { ...search, after: last.id });
  const previous = first && !isFirst && linkOf(path, { ...search, before: first.id });
  const pager = (total?: string) => {
    if (isFirst && !next) return total === undefined ? undefined : html`<p class="muted">${total}</p>`;
    return pageLinks({ first: !isFirst && linkOf(path, search), previous, next }, total);
  };
  return { rows, pager };
}

/** The place in a list that an address names, and its other parameters, with which its links go on. */
export function placeOf(query: URLSearchParams): {
  readonly after: string | undefined;
  readonly before: string | undefined;
  readonly search: Readonly<Record<string, string | undefined>>;
} {
  const { after, before, ...search } = Object.fromEntries(query);
  return { after, before, search: { ...search, columns: query.getAll('columns').join(',') } };
}

/** Links to the pages around one; those that are missing or false are left out. */
export const pageLinks = (
  { first, previous, next }: Record<'first' | 'previous' | 'next', string | false | undefined>,
  total?: string,
): Html =>
  html`<nav class="pager" aria-label="Pages">
${first && html`<a class="button" href="${first}">First page</a>`}
${previous && html`<a class="button" href="${previous}" rel="prev">Previous ${numberOf(page_rows)}</a>`}
${next && html`<a class="button" href="${next}" rel="next">Next ${numberOf(page_rows)}</a>`}
${total && html`<span class="muted">${total}</span>`}
</nav>`;
