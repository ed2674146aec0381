import { decimalsOf, dollars } from './format.ts';
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
  /** Its amounts, if it is one of dollars. */
  readonly usd?: (row: R) => string | null | undefined;
  /** Name of a column in addresses, by which a list is sorted and its columns are chosen; one without it is always there. */
  readonly key?: string;
  /** Orders in which the source of a list can return the rows, the one of a first click first. */
  readonly orders?: readonly Order[];
  /** What a list sorts the rows at hand by, in either order; for those that are all on one page. */
  readonly by?: (row: R) => string | number | null | undefined;
  /** True if only those see it who choose it. */
  readonly isExtra?: boolean;
  /** What a file of the list has of it, by the names of its columns there. */
  readonly csv?: Readonly<Record<string, (row: R) => string | number | null>>;
}

export type Order = 'asc' | 'desc';

/** A column of numbers, which are shown as they are given. */
export const numbers = <R>(
  title: string,
  cell: Column<R>['cell'],
  more: Partial<Column<R>> = {},
): Column<R> => ({ title, cell, isNumber: true, ...more });

/** A column of names, which may be broken anywhere. */
export const names = <R>(
  title: string,
  cell: Column<R>['cell'],
  more: Partial<Column<R>> = {},
): Column<R> => ({ title, cell, isName: true, ...more });

/** A column of dollars, of which a table shows all with the same decimals: as many as its rows need. */
export const money = <R>(
  title: string,
  usd: NonNullable<Column<R>['usd']>,
  more: Partial<Column<R>> = {},
): Column<R> => numbers(title, row => dollarsIn(usd(row)), { usd, ...more });

const dollarsIn = (usd: string | null | undefined, decimals?: number): Part =>
  usd !== null && usd !== undefined && dollars(usd, decimals);

function withDecimals<R>(column: Column<R>, rows: readonly R[]): Column<R> {
  const { usd } = column;
  if (!usd) return column;
  const decimals = decimalsOf(rows.flatMap(row => usd(row) ?? []));
  return { ...column, cell: row => dollarsIn(usd(row), decimals) };
}

interface TableParts<R> {
  /** The last line, which is not sorted: the total. */
  readonly foot?: R | undefined;
  /** Identifies a row where the table is kept up to date. */
  readonly keyOf?: ((row: R) => string) | undefined;
  /** The head of a column; by default its title. */
  readonly headOf?: (column: Column<R>) => { readonly title: Part; readonly sorted?: string | undefined };
}

/**
 * A table called `label`; `empty` in place of one without rows. Where the window is narrow its rows become cards, with titles beside the
 * cells; one with pictures scrolls by itself.
 */
export function tableOf<R>(
  label: string,
  columns: readonly Column<R>[],
  rows: readonly R[],
  empty?: Html,
  { foot, keyOf, headOf = ({ title }) => ({ title }) }: TableParts<R> = {},
): Html {
  if (rows.length === 0 && empty) return empty;
  const style = ({ isNumber, isName, isWide }: Column<R>): string =>
    isNumber ? 'number' : isName ? 'name' : isWide ? 'picture' : '';
  const hasPictures = columns.some(({ isWide }) => isWide);
  const head = (column: Column<R>): Html => {
    const { title, sorted } = headOf(column);
    return html`<th scope="col" class="${style(column)}" ${sorted && html`aria-sort="${sorted}"`}>${title}</th>`;
  };
  const shown = columns.map(column => withDecimals(column, foot ? [...rows, foot] : rows));
  const cellOf = (row: R) => (column: Column<R>) =>
    html`<td data-label="${column.title}" class="${style(column)}">${column.cell(row)}</td>`;
  return html`<div class="scroll ${!hasPictures && 'cards'}" role="region" aria-label="${label}" tabindex="0">
<table>
<thead><tr>${columns.map(head)}</tr></thead>
<tbody>${rows.map(
    row => html`<tr${keyOf && html` data-key="${keyOf(row)}"`}>${shown.map(cellOf(row))}</tr>\n`,
  )}</tbody>
${foot && html`<tfoot><tr>${shown.map(cellOf(foot))}</tr></tfoot>`}
</table>
</div>`;
}

/** Shown instead of an empty list: why it is empty, and what to do next. */
export function emptyState(why: string, next: Part): Html {
  return html`<div class="empty"><p><strong>${why}</strong></p><p class="muted">${next}</p></div>`;
}
