import { picoUsd } from '../../money.ts';
import type { Connection } from './database.ts';
import { KeptSums } from './kept-sums.ts';
import type { LedgerRow, RefusalCount } from './ledger-entry.ts';
import { type DailyKey, type FinestKey, finestOf, type MonthlyKey, slicesOf } from './usage-slices.ts';

const zero = {
  requests: 0,
  failed_requests: 0,
  estimated_requests: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  cost_pico_usd: 0n,
};
type UsageCounts = typeof zero;

/** The columns of the tables of sums that are added up. */
export const usageColumnNames = Object.keys(zero) as readonly (keyof UsageCounts)[];

/** Adds rows of the ledger, and refusals that have none, to the sums by day and month. */
export async function rollUp(
  connection: Connection,
  rows: readonly LedgerRow[],
  refusals: readonly RefusalCount[],
): Promise<void> {
  const finest = new KeptSums<FinestKey, UsageCounts>(zero);
  for (const row of rows) addRow(finest.of(finestOf(row)), row);
  for (const refusal of refusals) addRefusal(finest.of(finestOf(refusal)), refusal);
  const daily = new KeptSums<DailyKey, UsageCounts>(zero);
  const monthly = new KeptSums<MonthlyKey, UsageCounts>(zero);
  for (const { key, sum } of finest.values()) {
    const slices = slicesOf(key);
    for (const slice of slices.daily) addSum(daily.of(slice), sum);
    addSum(monthly.of(slices.monthly), sum);
  }
  await daily.addTo(connection, 'daily_sums', ['model', 'day', 'account']);
  await monthly.addTo(connection, 'monthly_sums', ['month', 'account']);
}

const isFailed = ({ error_type, status }: Pick<LedgerRow, 'error_type' | 'status'>): boolean =>
  error_type !== null || status >= 400;

function addRow(sum: UsageCounts, row: LedgerRow): void {
  sum.requests++;
  if (isFailed(row)) sum.failed_requests++;
  if (row.estimated) sum.estimated_requests++;
  sum.prompt_tokens += row.prompt_tokens;
  sum.completion_tokens += row.completion_tokens;
  sum.cached_tokens += row.cached_tokens;
  sum.reasoning_tokens += row.reasoning_tokens;
  sum.cost_pico_usd += picoUsd(row.cost_usd);
}

function addRefusal(sum: UsageCounts, refusal: RefusalCount): void {
  sum.requests += refusal.requests;
  if (isFailed(refusal)) sum.failed_requests += refusal.requests;
}

function addSum(sum: UsageCounts, { cost_pico_usd, ...counts }: UsageCounts): void {
  for (const [name, count] of Object.entries(counts)) sum[name as keyof typeof counts] += count;
  sum.cost_pico_usd += cost_pico_usd;
}
