import { dayOf } from './calendar-day.ts';
import { type Connection, insertOnce } from './database.ts';
import { DetailedSums } from './detailed-sums.ts';
import { type AlikeExchanges, ExchangeCounts } from './exchange-counts.ts';
import { KeptSums } from './kept-sums.ts';
import type { LedgerRow, RefusalBatch, RefusalCount } from './ledger-entry.ts';
import { addAttempts, addTraffic } from './traffic-roll-up.ts';
import { type FinestKey, finestOf, slicesOf } from './usage-slices.ts';

/** Adds rows of the ledger, and refusals that have none, to the sums by day, month, key and time. */
export async function rollUp(
  connection: Connection,
  rows: readonly LedgerRow[],
  refusals: readonly RefusalCount[],
): Promise<void> {
  const counts = new ExchangeCounts();
  for (const row of rows) counts.addRow(row);
  for (const refusal of refusals) counts.addRefusals(refusal);
  const { exchanges, attempts } = counts;
  const finest = new KeptSums<FinestKey>();
  const detailed = new DetailedSums();
  for (const alike of exchanges) {
    finest.add(finestOf(alike), alike.usage);
    detailed.add(alike, alike.usage);
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
  await useOfKeys(exchanges).write(connection, 'sluice.key_sums');
  await addTraffic(connection, exchanges);
  await addAttempts(connection, attempts);
}

/** Sums of the stored keys; keys of the configuration have no id. */
function useOfKeys(exchanges: readonly AlikeExchanges[]): KeptSums {
  const sums = new KeptSums();
  for (const { key_id, started_ms, usage } of exchanges) {
    if (key_id === null) continue;
    const { requests, failed_requests, cost_pico_usd } = usage;
    const tokens = usage.prompt_tokens + usage.completion_tokens;
    sums.add({ key_id, day: dayOf(started_ms) }, { requests, failed_requests, tokens, cost_pico_usd });
  }
  return sums;
}

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
