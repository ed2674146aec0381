import type { Charge } from '../limits/limit-units.ts';
import { type Connection, rowMarks } from './database.ts';

/** Use of one model by an account, on the present day or earlier in its month; `model` is `*` for all together. Costs are rounded up by the day. */
export interface BudgetSum extends Charge {
  readonly account: string;
  readonly model: string;
  readonly is_today: 0 | 1;
}

/** Use of the month of `day` until then, from the sums by the day: at most 31 of them for each model. Failed requests are left out. */
export function budgetSums(
  connection: Connection,
  accounts: readonly string[],
  day: string,
): Promise<BudgetSum[]> {
  return connection.run<BudgetSum>(
    `SELECT account, model, CASE WHEN day = ? THEN 1 ELSE 0 END AS is_today, SUM(requests - failed_requests) AS requests,
    SUM(prompt_tokens + completion_tokens) AS tokens, SUM((cost_pico_usd + 999) / 1000) AS nano_usd
    FROM daily_sums WHERE account IN ${rowMarks(1, accounts.length)} AND day BETWEEN ? AND ? GROUP BY 1, 2, 3`,
    [day, ...accounts, `${day.slice(0, 8)}01`, day],
  );
}
