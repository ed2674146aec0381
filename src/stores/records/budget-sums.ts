import { type Connection, rowMarks } from './database.ts';

/** What an account has used; `model` is `*` for all together. */
export interface BudgetSum {
  readonly account: string;
  readonly model: string;
  /** Tokens of `day`. */
  readonly tokens: number;
  /** Billionths of a dollar from the first of its month to `day`, each day rounded up. */
  readonly nano_usd: number;
}

/** What accounts have used of a day and of its month until then, from the sums by the day: at most 31 of them for each model. */
export function budgetSums(
  connection: Connection,
  accounts: readonly string[],
  day: string,
): Promise<BudgetSum[]> {
  return connection.run<BudgetSum>(
    `SELECT account, model, SUM(CASE WHEN day = ? THEN prompt_tokens + completion_tokens ELSE 0 END) AS tokens,
    SUM((cost_pico_usd + 999) / 1000) AS nano_usd
    FROM daily_sums WHERE account IN ${rowMarks(1, accounts.length)} AND day BETWEEN ? AND ? GROUP BY account, model`,
    [day, ...accounts, `${day.slice(0, 8)}01`, day],
  );
}
