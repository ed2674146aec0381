import { type Connection, rowMarks } from '../records/database.ts';
import type { BudgetSum } from '../records/usage-records.ts';
import { all_models } from '../records/usage-slices.ts';

const of = (field: string): string => `json_extract(row, '$.${field}')`;

/** The index that `waitingBudgets` uses. */
export const waitingByAccount = `CREATE INDEX IF NOT EXISTS waiting_by_account ON waiting (${of('account')})`;

/** Use of the month of `day` until then, from the rows of `accounts` in the queue on disk; the cost of each is rounded up. */
export async function waitingBudgets(
  queue: Connection,
  accounts: readonly string[],
  day: string,
): Promise<BudgetSum[]> {
  const day_ms = Date.parse(`${day}T00:00:00Z`);
  const month_ms = Date.parse(`${day.slice(0, 8)}01T00:00:00Z`);
  const byModel = await queue.run<BudgetSum>(
    `SELECT ${of('account')} AS account, COALESCE(${of('model')}, '') AS model,
    CASE WHEN ${of('started_ms')} >= ? THEN 1 ELSE 0 END AS is_today,
    SUM(CASE WHEN ${of('error_type')} IS NULL AND ${of('status')} < 400 THEN 1 ELSE 0 END) AS requests,
    SUM(${of('prompt_tokens')} + ${of('completion_tokens')}) AS tokens,
    SUM(CAST(ROUND(${of('cost_usd')} * 1e9 + 0.4999) AS INTEGER)) AS nano_usd
    FROM waiting WHERE ${of('account')} IN ${rowMarks(1, accounts.length)} AND ${of('started_ms')} BETWEEN ? AND ?
    GROUP BY 1, 2, 3`,
    [day_ms, ...accounts, month_ms, day_ms + 86_399_999],
  );
  return byModel.flatMap(sum => [sum, { ...sum, model: all_models }]);
}
