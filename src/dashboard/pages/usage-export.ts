import { csvOf } from '../../stores/records/csv.ts';
import { usageColumns } from '../../stores/records/usage-columns.ts';
import { type UsageGroup, usageGroups } from '../../stores/records/usage-query.ts';
import { type Answer, fileAnswer } from '../answer.ts';
import type { Page, Visit } from '../page-request.ts';
import { Refusal } from '../refusal.ts';
import { toMonthEnd, usageQuestion } from '../usage-question.ts';

/** More are not read into memory at once for one download. */
const max_rows = 200_000;

/** Usage as a file, line by line what `sluice usage --csv` prints for the same question. */
export const usageExportPage: Page = { name: 'usage-csv', get: exported };

async function exported({ desk, query }: Visit): Promise<Answer> {
  const now_ms = desk.clock.epoch_ms();
  const { question, fault } = usageQuestion(query, now_ms);
  if (fault !== undefined) throw new Refusal(422, fault);
  const by = query.getAll('by').map(groupOf);
  if (by.length === 0) by.push('model');
  const asked = by.includes('day') ? question : toMonthEnd(question, now_ms);
  const rows = await desk.records.store.usage.sum({ ...asked, by, limit: max_rows + 1 });
  if (rows.length > max_rows)
    throw new Refusal(
      422,
      `These are more than ${max_rows} lines.`,
      'Choose fewer days or one account, or use the command sluice usage --csv.',
    );
  const columns = usageColumns(by);
  const lines = rows.map(row => columns.map(({ value }) => String(value(row))));
  const { from_day, to_day } = question;
  const name = `usage-by-${by.join('-')}-${from_day}-to-${to_day}.csv`;
  return fileAnswer(
    name,
    'text/csv; charset=utf-8',
    `${csvOf([columns.map(({ title }) => title), ...lines])}\r\n`,
  );
}

function groupOf(text: string): UsageGroup {
  const group = usageGroups.find(name => name === text);
  if (group) return group;
  throw new Refusal(422, `“${text}” is nothing to tell usage by: ${usageGroups.join(', ')} are.`);
}
