import type { PageRequest } from '../page-request.ts';
import { linkOf } from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { placeOf } from './pager.ts';
import { type Column, type Order, tableOf } from './table.ts';

/** The column by which a list is sorted. */
export interface Sorting {
  readonly key: string;
  readonly order: Order;
}

/** A list of records. */
export interface List<R> {
  readonly label: string;
  /** All that its reader may see; which are shown, the address says. */
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  /** How the rows are sorted, unless the address names a column that sorts them here. */
  readonly sorting?: Sorting | undefined;
  /** Identifies a row while the list is kept up to date. */
  readonly keyOf?: (row: R) => string;
  /** The total of all rows, below them. */
  readonly total?: R;
  /** In place of a list without rows. */
  readonly empty?: Html;
  /** The file of all rows that match. */
  readonly csv?: string;
  /** Links to the pages beside it, as `listPage` makes them. */
  readonly pager?: Part;
}

type Address = Pick<PageRequest, 'path' | 'query'>;

/** How the address sorts a list, or else `byDefault`. A page whose rows come from a store asks this for them. */
export function sortingOf<R>(
  query: URLSearchParams,
  columns: readonly Column<R>[],
  byDefault?: Sorting,
): Sorting | undefined {
  const key = query.get('sort');
  const orders = ordersOf(columns.find(column => column.key !== undefined && column.key === key));
  const order = orders.find(one => one === query.get('order')) ?? orders[0];
  return key !== null && order ? { key, order } : byDefault;
}

const ordersOf = <R>(column: Column<R> | undefined): readonly Order[] =>
  column?.orders ?? (column?.by ? (column.isNumber ? ['desc', 'asc'] : ['asc', 'desc']) : []);

/**
 * The one list: a table whose columns are chosen (`columns` in the address) and sorted by (`sort`, `order`) by links in its head, with its file
 * and its pages.
 */
export function recordList<R>(address: Address, list: List<R>): Html {
  const { label, columns, rows, total: foot, keyOf, empty, csv, pager } = list;
  const sorting = sortingOf(address.query, columns, list.sorting);
  const shown = shownColumns(address.query, columns);
  const headOf = (column: Column<R>) => sortedHead(address, column, sorting);
  const table = tableOf(label, shown, sortedRows(rows, columns, sorting), empty, { foot, keyOf, headOf });
  const tools = rows.length > 0 && html`${columnForm(address, columns, shown)}${csvLink(csv)}`;
  return html`${tools && html`<div class="tools">${tools}</div>\n`}${table}${pager}`;
}

const csvLink = (csv: string | undefined): Part =>
  csv !== undefined && html`<a href="${csv}" download>Export CSV</a>`;

/** Those of `columns` that the address chooses. */
export function shownColumns<R>(query: URLSearchParams, columns: readonly Column<R>[]): readonly Column<R>[] {
  const chosen = new Set(query.getAll('columns').flatMap(names => names.split(',')));
  const isChosen = columns.some(({ key = '' }) => chosen.has(key));
  return columns.filter(({ key, isExtra }) => key === undefined || (isChosen ? chosen.has(key) : !isExtra));
}

function sortedRows<R>(rows: readonly R[], columns: readonly Column<R>[], sorting: Sorting | undefined) {
  const by = columns.find(({ key }) => key !== undefined && key === sorting?.key)?.by;
  return by && sorting ? sortedBy(rows, by, sorting.order) : rows;
}

/** Rows by what they are sorted by; what is unknown comes last in either order. */
export function sortedBy<R>(
  rows: readonly R[],
  by: NonNullable<Column<R>['by']>,
  order: Order,
): readonly R[] {
  const direction = order === 'asc' ? 1 : -1;
  const compare = (one: R, other: R): number => {
    const [a, b] = [by(one) ?? null, by(other) ?? null];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    if (a === b) return 0;
    return (a < b ? -1 : 1) * direction;
  };
  return [...rows].sort(compare);
}

const spoken = { asc: 'ascending', desc: 'descending' } as const;

/** The title, as a link where the list can be sorted by it; a second click turns the order round. */
function sortedHead<R>({ path, query }: Address, column: Column<R>, sorting: Sorting | undefined) {
  const { key, title } = column;
  const orders = ordersOf(column);
  if (key === undefined || orders.length === 0) return { title };
  const isSorted = key === sorting?.key;
  const order = (isSorted && orders.find(one => one !== sorting.order)) || orders[0];
  const link = linkOf(path || '.', { ...placeOf(query).search, sort: key, order });
  return {
    title: html`<a href="${link}">${title}</a>`,
    sorted: isSorted ? spoken[sorting.order] : undefined,
  };
}

/** A folded form with a box for each column that can be left out. */
function columnForm<R>(
  { path, query }: Address,
  columns: readonly Column<R>[],
  shown: readonly Column<R>[],
): Part {
  const named = columns.filter(({ key }) => key !== undefined);
  if (named.length < 2) return '';
  const { columns: chosen, ...search } = placeOf(query).search;
  const boxes = named.map(
    column =>
      html`<label class="check"><input type="checkbox" name="columns" value="${column.key}" ${shown.includes(column) && html`checked`}> ${column.title}</label>\n`,
  );
  return html`<details><summary>Columns</summary>
<form action="${path || '.'}" class="row">
${Object.entries(search).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${boxes}<button>Show</button>${chosen && html` <a href="${linkOf(path || '.', search)}">As usual</a>`}
</form></details>`;
}
