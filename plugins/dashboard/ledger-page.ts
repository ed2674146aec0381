import type { LedgerPlace, LedgerQuery, ListedRow } from '../../src/plugin.ts';
import type { PageRequest } from './page-request.ts';
import { linkOf, numberOf } from './view/format.ts';
import type { Html } from './view/html.ts';
import { page_rows, pageLinks, placeOf } from './view/pager.ts';

/** A page of the ledger's list, newest first. */
interface LedgerPage {
  readonly rows: readonly ListedRow[];
  /** False once the reader has turned the page. */
  readonly isFirst: boolean;
  /** True if not all rows of the time were searched; the pager leads to the others. */
  readonly isPart: boolean;
  /** Links to the pages around it. */
  readonly pager: Html | undefined;
}

/** Rows that one page searches for what no index finds: each page must come within a moment, however rare what is asked for is. */
export const searched_rows = 20_000;

/** Searches a bounded number of rows; `edge` is the last one that was searched, if others are behind it and fewer than `limit` were found. */
export async function searchLedger(
  { records }: PageRequest['context'],
  { limit, ...asked }: Omit<LedgerQuery, 'edge'>,
) {
  const { ledger } = records.store;
  const edge = await ledger.edgeOf(asked, searched_rows);
  const found = await ledger.list({ ...asked, edge, limit });
  return { found, edge: found.length === limit ? undefined : edge };
}

/** Reads the page that the address names: the rows older than `after`, or newer than `before`, of those that `asked` describes. */
export async function ledgerPage(
  { context, path, query }: PageRequest,
  asked: Omit<LedgerQuery, 'limit'>,
): Promise<LedgerPage> {
  const { after, before, search } = placeOf(query);
  const read = (cursor: Pick<LedgerQuery, 'after' | 'before'>) =>
    searchLedger(context, { ...asked, ...cursor, limit: page_rows + 1 });
  /** `newer` and `older` are the rows at which the pages around this one begin. */
  const pageOf = (
    rows: readonly ListedRow[],
    isPart: boolean,
    newer: LedgerPlace | undefined,
    older: LedgerPlace | undefined,
  ): LedgerPage => {
    const first = newer && linkOf(path, search);
    const previous = newer && linkOf(path, { ...search, before: cursorOf(newer) });
    const next = older && linkOf(path, { ...search, after: cursorOf(older) });
    const searched = isPart ? `${numberOf(searched_rows)} requests were searched for this page.` : undefined;
    const pager = newer || older ? pageLinks({ first, previous, next }, searched) : undefined;
    return { rows, isFirst: !newer, isPart, pager };
  };

  const back = rowIn(before);
  if (back) {
    const { found, edge } = await read({ before: back });
    const rows = found.slice(-page_rows);
    if (edge) return pageOf(rows, true, edge, rows.at(-1) ?? back);
    if (found.length > page_rows) return pageOf(rows, false, rows[0], rows.at(-1));
  }
  // Fewer than a page are newer than `back`: they are on the first one.
  const behind = back ? undefined : rowIn(after);
  const { found, edge } = await read({ after: behind });
  const rows = found.slice(0, page_rows);
  const older = found.length > page_rows ? rows.at(-1) : edge;
  return pageOf(rows, edge !== undefined, behind && (rows[0] ?? behind), older);
}

/** A row in a link. */
const cursorOf = ({ started_ms, id }: LedgerPlace): string => `${started_ms}_${id}`;

/** The row that a link names; undefined for anything else. */
function rowIn(cursor: string | undefined): LedgerPlace | undefined {
  const [, started_ms, id] = /^(\d{1,15})_(.{1,100})$/.exec(cursor ?? '') ?? [];
  return id === undefined ? undefined : { started_ms: Number(started_ms), id };
}
