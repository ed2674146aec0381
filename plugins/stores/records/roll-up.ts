import {
  all_models,
  type Connection,
  dayOf,
  errorClasses,
  isErrorClass,
  type LedgerRow,
  type RefusalBatch,
  type RefusalCount,
  trafficSteps,
} from '../../../src/store-plugin.ts';
import { type AlikeAttempts, type AlikeExchanges, ExchangeCounts, noPaid } from './exchange-counts.ts';
import { type Counts, KeptSums } from './kept-sums.ts';
import { insertOnce } from './statements.ts';
import { durationColumns, firstTokenColumns } from './traffic-sums.ts';
import { slicesOf } from './usage-slices.ts';

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
  // As with errors: where none is known the columns keep their default.
  const isPaid = exchanges.some(({ paid }) => paid);
  /** By table, in one order at every instance. */
  const sums = new Map<string, KeptSums>();
  for (const alike of exchanges) {
    const counts = { ...alike.usage, ...errorsOf(alike, zeros), ...(isPaid && (alike.paid ?? noPaid)) };
    for (const [table, keys] of Object.entries(slicesOf(alike))) {
      const ofTable = sums.get(table) ?? new KeptSums();
      sums.set(table, ofTable);
      for (const key of keys) ofTable.add(key, counts);
    }
  }
  for (const [table, ofTable] of sums) await ofTable.write(connection, `sluice.${table}`);
  await useOfKeys(exchanges, zeros).write(connection, 'sluice.key_sums');
  await totalsOf(exchanges).write(connection, 'sluice.total_sums');
  await trafficOf(exchanges).write(connection, 'sluice.traffic_sums');
  await attemptsOf(attempts).write(connection, 'sluice.attempt_sums');
}

/** 0 for each class of errors that any of them has: most batches have none, and the columns keep their default. */
function zeroErrors(exchanges: readonly AlikeExchanges[]): Record<string, 0> {
  const found = errorClasses.filter(name => exchanges.some(({ end_class }) => end_class === name));
  return Object.fromEntries(found.map(name => [name, 0]));
}

const errorsOf = ({ end_class, usage }: AlikeExchanges, zeros: Counts): Counts =>
  isErrorClass(end_class) ? { ...zeros, [end_class]: usage.failed_requests } : zeros;

const useOf = ({ usage }: AlikeExchanges) => {
  const { requests, failed_requests, cost_pico_usd } = usage;
  return { requests, failed_requests, tokens: usage.prompt_tokens + usage.completion_tokens, cost_pico_usd };
};

/** Sums of the stored keys; keys of the configuration have no id. */
function useOfKeys(exchanges: readonly AlikeExchanges[], zeros: Counts): KeptSums {
  const sums = new KeptSums();
  for (const alike of exchanges) {
    const { key_id, started_ms } = alike;
    if (key_id === null) continue;
    sums.add({ key_id, day: dayOf(started_ms) }, { ...useOf(alike), ...errorsOf(alike, zeros) });
  }
  return sums;
}

/** Sums of accounts and stored keys at all times. */
function totalsOf(exchanges: readonly AlikeExchanges[]): KeptSums {
  const sums = new KeptSums();
  for (const alike of exchanges) {
    const { account, model, key_id } = alike;
    const use = useOf(alike);
    for (const name of [model, all_models]) sums.add({ account, key_id: '', model: name }, use);
    if (key_id !== null) sums.add({ account, key_id, model: all_models }, use);
  }
  return sums;
}

const noFirstTokens = Object.fromEntries(firstTokenColumns.map(name => [name, 0]));

const noTimes = {
  ...noFirstTokens,
  ...Object.fromEntries(durationColumns.map(name => [name, 0])),
};

const timesOf = (epoch_ms: number) =>
  trafficSteps.map(({ step_ms }) => ({ step_ms, at_ms: epoch_ms - (epoch_ms % step_ms) }));

/** Sums of exchanges over time. */
function trafficOf(exchanges: readonly AlikeExchanges[]): KeptSums {
  const sums = new KeptSums();
  for (const { started_ms, provider, model, error_type, end_reason, usage, first_tokens } of exchanges) {
    const { requests, cost_pico_usd } = usage;
    const tokens = usage.prompt_tokens + usage.completion_tokens;
    const counts = { requests, tokens, cost_pico_usd, ...noFirstTokens, ...first_tokens };
    for (const time of timesOf(started_ms))
      sums.add({ ...time, provider, model, error_type, end_reason }, counts);
  }
  return sums;
}

/** Sums of attempts over time. */
function attemptsOf(attempts: readonly AlikeAttempts[]): KeptSums {
  const sums = new KeptSums();
  for (const { at_ms, count, times, ...by } of attempts)
    for (const time of timesOf(at_ms))
      sums.add({ ...time, ...by }, { attempts: count, ...noTimes, ...times });
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
