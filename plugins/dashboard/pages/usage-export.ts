import { csvOf, type UsageGroup, usageColumns, usageGroups } from '../../../src/plugin.ts';
import { seesMoney } from '../access/roles.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { fileResponse, PageError, type PageResponse } from '../page-response.ts';
import { groupsIn, toMonthEnd, usageQuestion } from '../usage-question.ts';

/** Maximum rows of a download, which is built in memory. */
const max_rows = 200_000;

/** Usage as a file, with the lines that `sluice usage --csv` prints for the same query; without costs for those who see no money. */
export const usageExportPage: Page = { name: 'usage-csv', get: exported };

async function exported({ context, query, session }: PageRequest): Promise<PageResponse> {
  const now_ms = context.clock.epoch_ms();
  const { question, fault } = usageQuestion(query, now_ms);
  if (fault !== undefined) throw new PageError(422, fault);
  const by: readonly UsageGroup[] = query.has('by') ? groupsIn(query, usageGroups) : ['model'];
  if (by.includes('key') && question.account === undefined)
    throw new PageError(
      422,
      'Usage by key is exported for one account.',
      'Choose an account, or use the command sluice usage --csv.',
    );
  const asked = by.some(group => group === 'day' || group === 'hour')
    ? question
    : toMonthEnd(question, now_ms);
  const rows = await context.records.store.usage.sum({ ...asked, by, limit: max_rows + 1 });
  if (rows.length > max_rows)
    throw new PageError(
      422,
      `The export has more than ${max_rows} lines.`,
      'Choose fewer days or one account, or use the command sluice usage --csv.',
    );
  const columns = usageColumns(by, seesMoney(session.role));
  const lines = rows.map(row => columns.map(({ value }) => String(value(row))));
  const name = `usage-by-${by.join('-')}-${question.from_day}-to-${question.to_day}.csv`;
  return fileResponse(name, 'text/csv', `${csvOf([columns.map(({ title }) => title), ...lines])}\r\n`);
}
