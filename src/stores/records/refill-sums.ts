import type { Connection } from './database.ts';

const columns = `requests, failed_requests, estimated_requests,
  prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cost_pico_usd`;

/**
 * Fills `daily_sums` and `monthly_sums` from the `usage_sums` that were kept before, which also have what is no longer in the ledger. A
 * statement for each day, so that none takes longer than statements may.
 */
export async function refillSums(
  connection: Connection,
  _isPostgres: boolean,
  progress: (done: number, total: number) => void,
): Promise<void> {
  const periods = await connection.run<{ period: string }>('SELECT DISTINCT period FROM usage_sums');
  for (const [done, { period }] of periods.entries()) {
    progress(done, periods.length);
    await (period.length === 'YYYY-MM'.length
      ? refillMonth(connection, period)
      : refillDay(connection, period));
  }
}

async function refillDay(connection: Connection, day: string): Promise<void> {
  await connection.run(
    `INSERT INTO daily_sums (model, day, account, ${columns})
    SELECT model, period, account, ${columns} FROM usage_sums WHERE period = ?`,
    [day],
  );
  // All models together, which only months had.
  await connection.run(
    `INSERT INTO daily_sums (model, day, account, ${columns})
    SELECT '*', period, account, ${columns.replace(/\w+/g, 'SUM($&)')}
    FROM usage_sums WHERE period = ? AND account <> '' GROUP BY period, account`,
    [day],
  );
}

async function refillMonth(connection: Connection, month: string): Promise<void> {
  await connection.run(
    `INSERT INTO monthly_sums (month, account, ${columns})
    SELECT period, account, ${columns} FROM usage_sums WHERE period = ?`,
    [month],
  );
}
