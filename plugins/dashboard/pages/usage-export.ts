import { csvOf, hasPaid, type UsageGroup, usageColumns } from '../../../src/plugin.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { fileResponse, PageError, type PageResponse } from '../page-response.ts';
import { groupsIn, toMonthEnd, usageQuestion } from '../usage-question.ts';
import { groupsFor } from './usage-view.ts';

/** Maximum rows of a download of an operator and of a customer, which is built in memory. */
const [max_rows, max_rows_of_customer] = [200_000, 50_000];

/** Usage as a file, with the lines that `sluice usage --csv` prints for the same query; without costs for those who see no money. */
export const usageExportPage: Page = { name: 'usage-csv', get: exported };

async function exported(request: PageRequest): Promise<PageResponse> {
  const { context, query, scope } = request;
  const { question, fault } = usageQuestion(request);
  if (fault !== undefined) throw new PageError(422, fault);
  const by: readonly UsageGroup[] = query.has('by') ? groupsIn(query, groupsFor(scope)) : ['model'];
  if (by.includes('key') && question.account === undefined)
    throw new PageError(
      422,
      'Usage by key is exported for one account.',
      'Choose an account, or use the command sluice usage --csv.',
    );
  const asked = by.some(group => group === 'day' || group === 'hour')
    ? question
    : toMonthEnd(question, context.clock.epoch_ms());
  const most = scope.account ? max_rows_of_customer : max_rows;
  const rows = await context.records.store.usage.sum({ ...asked, by, limit: most + 1 });
  if (rows.length > most)
    throw new PageError(
      422,
      `The export has more than ${most} lines.`,
      scope.account
        ? 'Choose fewer days.'
        : 'Choose fewer days or one account, or use the command sluice usage --csv.',
    );
  const columns = usageColumns(by, scope.sees.money, scope.sees.margins && hasPaid(rows));
  const lines = rows.map(row => columns.map(({ value }) => String(value(row))));
  const name = `usage-by-${by.join('-')}-${question.from_day}-to-${question.to_day}.csv`;
  return fileResponse(name, 'text/csv', `${csvOf([columns.map(({ title }) => title), ...lines])}\r\n`);
}
