import {
  type Connection,
  dayOf,
  errorClasses,
  isErrorClass,
  type LedgerRow,
  type RefusalBatch,
  type RefusalCount,
} from '../../../src/plugin.ts';
import { DetailedSums } from './detailed-sums.ts';
import { type AlikeExchanges, ExchangeCounts } from './exchange-counts.ts';
import { type Counts, KeptSums } from './kept-sums.ts';
import { insertOnce } from './statements.ts';
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
  const zeros = zeroErrors(exchanges);
  const finest = new KeptSums<FinestKey>();
  const detailed = new DetailedSums();
  for (const alike of exchanges) {
    const sum = { ...alike.usage, ...errorsOf(alike, zeros) };
    finest.add(finestOf(alike), sum);
    detailed.add(alike, sum);
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
  await useOfKeys(exchanges, zeros).write(connection, 'sluice.key_sums');
  await addTraffic(connection, exchanges);
  await addAttempts(connection, attempts);
}

/** 0 for each class of errors that any of them has: most batches have none, and the columns keep their default. */
function zeroErrors(exchanges: readonly AlikeExchanges[]): Record<string, 0> {
  const found = errorClasses.filter(name => exchanges.some(({ end_class }) => end_class === name));
  return Object.fromEntries(found.map(name => [name, 0]));
}

const errorsOf = ({ end_class, usage }: AlikeExchanges, zeros: Counts): Counts =>
  isErrorClass(end_class) ? { ...zeros, [end_class]: usage.failed_requests } : zeros;

/** Sums of the stored keys; keys of the configuration have no id. */
function useOfKeys(exchanges: readonly AlikeExchanges[], zeros: Counts): KeptSums {
  const sums = new KeptSums();
  for (const alike of exchanges) {
    const { key_id, started_ms, usage } = alike;
    if (key_id === null) continue;
    const { requests, failed_requests, cost_pico_usd } = usage;
    const tokens = usage.prompt_tokens + usage.completion_tokens;
    const counts = { requests, failed_requests, tokens, cost_pico_usd, ...errorsOf(alike, zeros) };
    sums.add({ key_id, day: dayOf(started_ms) }, counts);
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
