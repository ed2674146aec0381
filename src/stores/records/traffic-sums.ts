import { day_ms } from './calendar-day.ts';
import type { Connection } from './database.ts';
import { KeptSums } from './kept-sums.ts';
import type { LedgerRow, RefusalCount } from './ledger-entry.ts';

const minute_ms = 60_000;
const hour_ms = 60 * minute_ms;

/** The lengths of time that are added up, and how long each is kept: a little longer than the ranges that are made of them. */
export const trafficSteps = [
  { step_ms: minute_ms, kept_ms: 7 * hour_ms },
  { step_ms: 10 * minute_ms, kept_ms: 26 * hour_ms },
  { step_ms: hour_ms, kept_ms: 32 * day_ms },
] as const;

/** Upper bounds of the times to the first token that are counted apart, in milliseconds; later ones have a count of their own. */
export const first_token_bounds_ms = [
  50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400, 3200, 5000, 7500, 10_000, 15_000, 30_000,
  60_000,
] as const;

/** The columns of these counts, in the order of the bounds. */
export const firstTokenColumns: readonly string[] = [
  ...first_token_bounds_ms.map(bound_ms => `first_${bound_ms}`),
  'first_later',
];

/** What the requests of a time are counted by. All are bounded: by the configuration, the catalog and the catalogue of errors. */
export const trafficKeys = 'step_ms, at_ms, provider, model, error_type, end_reason';
/** What the attempts of a time are counted by. */
export const attemptKeys = 'step_ms, at_ms, provider, outcome, kind';

/** Type of the error of a request; its status for errors that the application's own handler sent, and empty without one. */
export const errorTypeOf = ({ error_type, status }: Pick<LedgerRow, 'error_type' | 'status'>): string =>
  error_type ?? (status >= 400 ? String(status) : '');

const noFirstTokens = Object.fromEntries(firstTokenColumns.map(name => [name, 0]));

function firstTokenOf(first_token_ms: number | null): Record<string, number> {
  if (first_token_ms === null) return noFirstTokens;
  const at = first_token_bounds_ms.findIndex(bound_ms => first_token_ms <= bound_ms);
  return { ...noFirstTokens, [firstTokenColumns.at(at)!]: 1 };
}

/** Adds rows of the ledger, and refusals that have none, to the sums over time, and the attempts of the rows to theirs. */
export async function addTraffic(
  connection: Connection,
  rows: readonly LedgerRow[],
  refusals: readonly RefusalCount[],
): Promise<void> {
  const traffic = new KeptSums();
  const attempts = new KeptSums();
  const timesOf = (epoch_ms: number) =>
    trafficSteps.map(({ step_ms }) => ({ step_ms, at_ms: epoch_ms - (epoch_ms % step_ms) }));
  for (const row of rows) {
    const counts = { requests: 1, ...firstTokenOf(row.first_token_ms) };
    for (const time of timesOf(row.started_ms))
      traffic.add({ ...time, provider: row.provider ?? '', ...kindOf(row) }, counts);
    // A row that waited on disk may be of a version without them.
    for (const { provider, outcome, kind, offset_ms } of row.attempts_made ?? [])
      for (const time of timesOf(row.started_ms + offset_ms))
        attempts.add(
          { ...time, provider: provider ?? '', outcome: outcome ?? '', kind: kind ?? '' },
          { attempts: 1 },
        );
  }
  for (const refusal of refusals) {
    const counts = { requests: refusal.requests, ...noFirstTokens };
    for (const time of timesOf(refusal.started_ms))
      traffic.add({ ...time, provider: '', ...kindOf(refusal) }, counts);
  }
  await traffic.write(connection, 'sluice.traffic_sums');
  await attempts.write(connection, 'sluice.attempt_sums');
}

const kindOf = (exchange: LedgerRow | RefusalCount) => ({
  model: exchange.model ?? '',
  error_type: errorTypeOf(exchange),
  end_reason: exchange.end_reason,
});
