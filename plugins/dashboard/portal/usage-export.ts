import { csvOf, usageColumns } from '../../../src/plugin.ts';
import type { Page } from '../page-request.ts';
import { fileResponse, PageError, type PageResponse } from '../page-response.ts';
import { groupsIn } from '../usage-question.ts';
import { type PortalRequest, portalPage } from './portal-page.ts';
import { ownQuestion } from './usage.ts';

/** Maximum rows of a download, which is built in memory. */
const max_rows = 50_000;
const groups = ['day', 'month', 'model', 'key'] as const;

/** The account's usage as a file. */
export const usageExportPage: Page = portalPage({ name: 'usage-csv', get: exported });

async function exported(request: PortalRequest): Promise<PageResponse> {
  const { question, fault } = ownQuestion(request);
  if (fault !== undefined) throw new PageError(422, fault);
  const by = groupsIn(request.query, groups);
  const { usage } = request.context.records.store;
  const rows = await usage.sum({ ...question, by, limit: max_rows + 1 });
  if (rows.length > max_rows)
    throw new PageError(422, `The export has more than ${max_rows} lines.`, 'Choose fewer days.');
  const columns = usageColumns(by);
  const lines = rows.map(row => columns.map(({ value }) => String(value(row))));
  const name = `usage-${question.from_day}-to-${question.to_day}.csv`;
  return fileResponse(name, 'text/csv', `${csvOf([columns.map(({ title }) => title), ...lines])}\r\n`);
}
