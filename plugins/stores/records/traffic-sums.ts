import { day_ms, hour_ms, minute_ms } from '../../../src/common/durations.ts';

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
export const firstTokenColumns: readonly `first_${string}`[] = [
  ...first_token_bounds_ms.map(bound_ms => `first_${bound_ms}` as const),
  'first_later',
];

/** The column that counts this time to the first token. */
export function firstTokenColumnOf(first_token_ms: number): string {
  const at = first_token_bounds_ms.findIndex(bound_ms => first_token_ms <= bound_ms);
  return firstTokenColumns.at(at)!;
}

/** Upper bounds of the durations of attempts that are counted apart, in milliseconds; longer ones have a count of their own. */
export const duration_bounds_ms = [
  100, 250, 500, 1000, 2000, 4000, 7500, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
] as const;

/** The columns of these counts, in the order of the bounds. */
export const durationColumns: readonly `took_${string}`[] = [
  ...duration_bounds_ms.map(bound_ms => `took_${bound_ms}` as const),
  'took_longer',
];

/** The column that counts this duration of an attempt. */
export const durationColumnOf = (duration_ms: number): string =>
  durationColumns.at(duration_bounds_ms.findIndex(bound_ms => duration_ms <= bound_ms))!;

/** What the requests of a time are counted by. All are bounded: by the configuration, the catalog and the catalogue of errors. */
export const trafficKeys = 'step_ms, at_ms, provider, model, error_type, end_reason';
/** What the attempts of a time are counted by. */
export const attemptKeys = 'step_ms, at_ms, provider, outcome, kind';
