import { picoUsd } from '../../money.ts';
import { dayOf } from './calendar-day.ts';
import { type Connection, insertOnce } from './database.ts';
import { DetailedSums } from './detailed-sums.ts';
import { KeptSums } from './kept-sums.ts';
import type { LedgerRow, RefusalBatch, RefusalCount } from './ledger-entry.ts';
import { addTraffic } from './traffic-sums.ts';
import { type FinestKey, finestOf, slicesOf } from './usage-slices.ts';

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
type UsageCounts = Readonly<typeof zero>;

/** The columns of the tables of sums that are added up. */
export const usageColumnNames = Object.keys(zero) as readonly (keyof UsageCounts)[];

/** Adds rows of the ledger, and refusals that have none, to the sums by day, month, key and time. */
export async function rollUp(
  connection: Connection,
  rows: readonly LedgerRow[],
  refusals: readonly RefusalCount[],
): Promise<void> {
  const finest = new KeptSums<FinestKey>();
  const detailed = new DetailedSums();
  for (const row of rows) {
    const counts = countsOf(row);
    finest.add(finestOf(row), counts);
    detailed.add(row, counts);
  }
  for (const refusal of refusals) {
    const { requests } = refusal;
    const failed_requests = isFailed(refusal) ? requests : 0;
    const counts = { ...zero, requests, failed_requests };
    finest.add(finestOf(refusal), counts);
    detailed.add({ ...refusal, provider: null }, counts);
  }
  const daily = new KeptSums();
  const monthly = new KeptSums();
  for (const { key, sum } of finest.values()) {
    const slices = slicesOf(key);
    for (const slice of slices.daily) daily.add(slice, sum);
    monthly.add(slices.monthly, sum);
  }
  await daily.write(connection, 'sluice.daily_sums');
  await monthly.write(connection, 'sluice.monthly_sums');
  await detailed.write(connection);
  await useOfKeys(rows, refusals).write(connection, 'sluice.key_sums');
  await addTraffic(connection, rows, refusals);
}

/** Sums of the stored keys; keys of the configuration have no id. */
function useOfKeys(rows: readonly LedgerRow[], refusals: readonly RefusalCount[]): KeptSums {
  const sums = new KeptSums();
  const add = (of: LedgerRow | RefusalCount, requests: number, tokens: number, cost_pico_usd: bigint) => {
    const { key_id, started_ms } = of;
    const failed_requests = isFailed(of) ? requests : 0;
    if (key_id !== null)
      sums.add({ key_id, day: dayOf(started_ms) }, { requests, failed_requests, tokens, cost_pico_usd });
  };
  for (const row of rows) add(row, 1, row.prompt_tokens + row.completion_tokens, picoUsd(row.cost_usd));
  for (const refusal of refusals) add(refusal, refusal.requests, 0, 0n);
  return sums;
}

const isFailed = ({ error_type, status }: Pick<LedgerRow, 'error_type' | 'status'>): boolean =>
  error_type !== null || status >= 400;

const countsOf = (row: LedgerRow): UsageCounts => ({
  requests: 1,
  failed_requests: isFailed(row) ? 1 : 0,
  estimated_requests: row.estimated ? 1 : 0,
  prompt_tokens: row.prompt_tokens,
  completion_tokens: row.completion_tokens,
  cached_tokens: row.cached_tokens,
  reasoning_tokens: row.reasoning_tokens,
  cost_pico_usd: picoUsd(row.cost_usd),
});

/** Adds batches that have not been counted yet to `refusal_sums`, and returns these. */
export async function countOnce(
  connection: Connection,
  batches: readonly RefusalBatch[],
): Promise<RefusalBatch[]> {
  const uncounted = await insertOnce(connection, 'sluice.counted_batches', batches, ({ id }) => ({ id }));
  const sums = new KeptSums();
  for (const { requests, started_ms, ...by } of uncounted.flatMap(({ refusals }) => refusals)) {
    const { key_id, model, error_type } = by;
    const named = { key_id: key_id ?? '', model: model ?? '', error_type: error_type ?? '' };
    sums.add({ ...by, ...named, day: dayOf(started_ms) }, { requests });
  }
  await sums.write(connection, 'sluice.refusal_sums');
  return uncounted;
}
