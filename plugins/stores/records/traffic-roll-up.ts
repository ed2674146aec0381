import { type Connection, trafficSteps } from '../../../src/plugin.ts';
import type { AlikeAttempts, AlikeExchanges } from './exchange-counts.ts';
import { KeptSums } from './kept-sums.ts';
import { durationColumns, firstTokenColumns } from './traffic-sums.ts';

const noFirstTokens = Object.fromEntries(firstTokenColumns.map(name => [name, 0]));

const noTimes = {
  ...noFirstTokens,
  ...Object.fromEntries(durationColumns.map(name => [name, 0])),
};

const timesOf = (epoch_ms: number) =>
  trafficSteps.map(({ step_ms }) => ({ step_ms, at_ms: epoch_ms - (epoch_ms % step_ms) }));

/** Adds exchanges to the sums over time. */
export async function addTraffic(
  connection: Connection,
  exchanges: readonly AlikeExchanges[],
): Promise<void> {
  const sums = new KeptSums();
  for (const { started_ms, provider, model, error_type, end_reason, usage, first_tokens } of exchanges) {
    const counts = { requests: usage.requests, ...noFirstTokens, ...first_tokens };
    for (const time of timesOf(started_ms))
      sums.add({ ...time, provider, model, error_type, end_reason }, counts);
  }
  await sums.write(connection, 'sluice.traffic_sums');
}

/** Adds attempts to the sums over time. */
export async function addAttempts(connection: Connection, attempts: readonly AlikeAttempts[]): Promise<void> {
  const sums = new KeptSums();
  for (const { at_ms, count, times, ...by } of attempts)
    for (const time of timesOf(at_ms))
      sums.add({ ...time, ...by }, { attempts: count, ...noTimes, ...times });
  await sums.write(connection, 'sluice.attempt_sums');
}
