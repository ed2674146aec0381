import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { csvOf, type LedgerPlace, type ListedRow } from '../../../src/plugin.ts';
import { searchLedger } from '../ledger-page.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { beginFile } from '../page-response.ts';
import { queryOf } from '../request-filters.ts';
import { shownColumns } from '../view/list.ts';
import { columnsOf, largestOf, max_exported } from './requests.ts';

/** Rows that are read at a time, and times that rows are searched for. */
const [step_rows, max_steps] = [1000, 40];
/** Time for a browser to take the file. */
const patience_ms = 300_000;

/** The columns that the list shows, of all its pages, as a file: exact figures, times in UTC. */
export const requestsExportPage: Page = { name: 'requests-csv', get: exported };

async function exported(request: PageRequest): Promise<undefined> {
  const columns = shownColumns(request.query, columnsOf(request)).flatMap(({ csv = {} }) =>
    Object.entries(csv),
  );
  const lineOf = (row: ListedRow) => columns.map(([, value]) => String(value(row) ?? ''));
  const parts = partsOf(request);
  // Before the head, so that a store that is down is answered as such.
  const first = await parts.next();
  const text = (lines: string[][]) => `${csvOf(lines)}\r\n`;
  const file = async function* () {
    yield text([columns.map(([name]) => name), ...(first.value ?? []).map(lineOf)]);
    for await (const rows of parts) if (rows.length > 0) yield text(rows.map(lineOf));
  };
  beginFile(request.response, 'requests.csv', 'text/csv');
  await pipeline(Readable.from(file()), request.response, { signal: AbortSignal.timeout(patience_ms) });
}

/** The rows in the order of the list, in parts. */
async function* partsOf(request: PageRequest): AsyncGenerator<readonly ListedRow[]> {
  const largest = await largestOf(request, max_exported);
  if (largest) return yield largest;
  const asked = queryOf(request);
  let after: LedgerPlace | undefined;
  for (let [rows, steps] = [0, 0]; steps < max_steps && rows < max_exported; steps++) {
    const { found, edge } = await searchLedger(request.context, { ...asked, after, limit: step_rows });
    yield found;
    rows += found.length;
    after = found.length === step_rows ? found.at(-1) : edge;
    if (!after) return;
  }
}
