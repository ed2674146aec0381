import { type Html, html, type Part } from './html.ts';

/** One column of a table: its title, its cells, and whether they are numbers. */
export interface Column<R> {
  readonly title: string;
  readonly cell: (row: R) => Part;
  readonly isNumber?: boolean;
  /** True for long names, which may be broken anywhere. */
  readonly isName?: boolean;
  /** True for pictures, which take the room that is left. */
  readonly isWide?: boolean;
}

/** A column of numbers, which are shown as they are given. */
export const numbers = <R>(title: string, cell: Column<R>['cell']): Column<R> => ({
  title,
  cell,
  isNumber: true,
});

/** A column of names, which may be broken anywhere. */
export const names = <R>(title: string, cell: Column<R>['cell']): Column<R> => ({
  title,
  cell,
  isName: true,
});

/**
 * A table called `label`; `empty` in place of one without rows. Where the window is narrow its rows become cards, with titles beside the
 * cells; one with pictures scrolls by itself.
 */
export function tableOf<R>(
  label: string,
  columns: readonly Column<R>[],
  rows: readonly R[],
  empty?: Html,
): Html {
  if (rows.length === 0 && empty) return empty;
  const style = ({ isNumber, isName, isWide }: Column<R>): string =>
    isNumber ? 'number' : isName ? 'name' : isWide ? 'picture' : '';
  const hasPictures = columns.some(({ isWide }) => isWide);
  return html`<div class="scroll ${!hasPictures && 'cards'}" role="region" aria-label="${label}" tabindex="0">
<table>
<thead><tr>${columns.map(column => html`<th scope="col" class="${style(column)}">${column.title}</th>`)}</tr></thead>
<tbody>${rows.map(
    row =>
      html`<tr>${columns.map(column => html`<td data-label="${column.title}" class="${style(column)}">${column.cell(row)}</td>`)}</tr>\n`,
  )}</tbody>
</table>
</div>`;
}

/** Shown instead of an empty list: why it is empty, and what to do next. */
export function emptyState(why: string, next: Part): Html {
  return html`<div class="empty"><p><strong>${why}</strong></p><p class="muted">${next}</p></div>`;
}
