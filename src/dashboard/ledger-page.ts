import type { LedgerQuery } from '../stores/records/ledger-query.ts';
import type { ListedRow } from '../stores/records/ledger-records.ts';
import type { PageRequest } from './page-request.ts';
import { linkOf } from './view/format.ts';
import type { Html } from './view/html.ts';
import { page_rows, pageLinks } from './view/pager.ts';

/** A page of the ledger's list, newest first. */
interface LedgerPage {
  readonly rows: readonly ListedRow[];
  /** False once the reader has turned the page. */
  readonly isFirst: boolean;
  /** Links to the pages around it. */
  readonly pager: Html | undefined;
}

const words = { first: 'Newest', previous: 'Newer', next: 'Older' };

/** Reads the page that the address names: the rows older than `after`, or newer than `before`, of those that `asked` describes. */
export async function ledgerPage(
  { context, path, query }: PageRequest,
  asked: Omit<LedgerQuery, 'limit'>,
): Promise<LedgerPage> {
  const { after, before, ...search } = Object.fromEntries(query);
  const list = (cursor: Pick<LedgerQuery, 'after' | 'before'>) =>
    context.records.store.ledger.list({ ...asked, ...cursor, limit: page_rows + 1 });
  const pageOf = (rows: readonly ListedRow[], hasNewer: boolean, hasOlder: boolean): LedgerPage => {
    const first = hasNewer && linkOf(path, search);
    const previous = hasNewer && linkOf(path, { ...search, before: cursorOf(rows[0]) });
    const next = hasOlder && linkOf(path, { ...search, after: cursorOf(rows.at(-1)) });
    return {
      rows,
      isFirst: !hasNewer,
      pager: hasNewer || hasOlder ? pageLinks({ first, previous, next }, words) : undefined,
    };
  };

  const newerThan = rowIn(before);
  const newer = newerThan && (await list({ before: newerThan }));
  if (newer && newer.length > page_rows) return pageOf(newer.slice(-page_rows), true, true);
  // Fewer than a page are newer: they are on the first one.
  const olderThan = newer ? undefined : rowIn(after);
  const found = await list({ after: olderThan });
  return pageOf(found.slice(0, page_rows), olderThan !== undefined, found.length > page_rows);
}

/** A row in a link; empty for a page without rows. */
const cursorOf = (row: ListedRow | undefined): string => (row ? `${row.started_ms}_${row.id}` : '');

/** The row that a link names; undefined for anything else. */
function rowIn(cursor: string | undefined): LedgerQuery['after'] {
  const [, started_ms, id] = /^(\d{1,15})_(.{1,100})$/.exec(cursor ?? '') ?? [];
  return id === undefined ? undefined : { started_ms: Number(started_ms), id };
}
