import type { PageRequest } from '../page-request.ts';
import { linkOf, numberOf } from './format.ts';
import { type Html, html } from './html.ts';

/** Rows on a page of a list. */
export const page_rows = 50;

interface ListPage<R> {
  readonly rows: readonly R[];
  /** Links to the next page and back to the first; `total` is that of all pages as text, such as `3 keys`. */
  pager(total?: string): Html | undefined;
}

/** Reads the page of a list that the request names; rows are found by the id of the last one before. */
export async function listPage<R extends { readonly id: string }>(
  { path, query }: PageRequest,
  read: (page: { readonly limit: number; readonly after: string | undefined }) => Promise<readonly R[]>,
): Promise<ListPage<R>> {
  const { after, ...search } = Object.fromEntries(query);
  const found = await read({ after, limit: page_rows + 1 });
  const rows = found.slice(0, page_rows);
  const next = found.length > page_rows && linkOf(path, { ...search, after: rows.at(-1)!.id });
  const pager = (total?: string) => {
    if (after === undefined && !next)
      return total === undefined ? undefined : html`<p class="muted">${total}</p>`;
    return html`<nav class="pager" aria-label="Pages">
${after !== undefined && html`<a class="button" href="${linkOf(path, search)}">First page</a>`}
${next && html`<a class="button" href="${next}" rel="next">Next ${numberOf(page_rows)}</a>`}
${total && html`<span class="muted">${total}</span>`}
</nav>`;
  };
  return { rows, pager };
}
