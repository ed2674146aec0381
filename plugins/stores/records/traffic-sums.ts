import { duration_bounds_ms, first_token_bounds_ms } from '../../../src/store-plugin.ts';

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
export const attemptKeys = 'step_ms, at_ms, provider, model, outcome, kind';
