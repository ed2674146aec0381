import { linkOf, numberOf } from './format.ts';
import { type Html, html } from './html.ts';

/** Rows on a page of a list. */
export const page_rows = 50;

interface Place {
  readonly page: string;
  /** Search parameters of the list. */
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly after: string | undefined;
  /** The id of the last row, if there are more. */
  readonly next: string | undefined;
  /** Total of all pages as text, such as `3 keys`, if known. */
  readonly total?: string | undefined;
}

/** Links of a long list: next page and back to its beginning. */
export function pager({ page, query, after, next, total }: Place): Html | undefined {
  if (after === undefined && next === undefined)
    return total === undefined ? undefined : html`<p class="muted">${total}</p>`;
  return html`<nav class="pager" aria-label="Pages">
${after !== undefined && html`<a class="button" href="${linkOf(page, query)}">First page</a>`}
${next !== undefined && html`<a class="button" href="${linkOf(page, { ...query, after: next })}" rel="next">Next ${numberOf(page_rows)}</a>`}
${total && html`<span class="muted">${total}</span>`}
</nav>`;
}

/** The rows to show, of one more than a page, and the id after which the next page begins. */
export function pageOf<R extends { readonly id: string }>(rows: readonly R[]) {
  const shown = rows.slice(0, page_rows);
  return { shown, next: rows.length > page_rows ? shown.at(-1)!.id : undefined };
}
