/** A straight line through values over time, by least squares. */
export interface Trend {
  readonly mean: number;
  readonly per_hour: number;
  /** Standard error of `per_hour`. */
  readonly error_per_hour: number;
}

/** A value at a time. */
export interface Point {
  readonly at_ms: number;
  readonly value: number;
}

const hour_ms = 3_600_000;

/** The line through at least three points. */
export function trendOf(points: readonly Point[]): Trend {
  const mean = average(points.map(({ value }) => value));
  const middle_ms = average(points.map(({ at_ms }) => at_ms));
  const spread = points.reduce((sum, { at_ms }) => sum + (at_ms - middle_ms) ** 2, 0);
  const slope =
    points.reduce((sum, { at_ms, value }) => sum + (at_ms - middle_ms) * (value - mean), 0) / spread;
  const rest = points.reduce(
    (sum, { at_ms, value }) => sum + (value - mean - slope * (at_ms - middle_ms)) ** 2,
    0,
  );
  const error = Math.sqrt(rest / (points.length - 2) / spread);
  return { mean, per_hour: slope * hour_ms, error_per_hour: error * hour_ms };
}

/** What a line may rise by over its length and still be called flat, as a share of its mean. */
export const flat_share = 0.03;

/**
 * Whether a quantity stays as it is over `length_ms`: its line rises by no more than `flat_share` of the mean, or by no more than two
 * standard errors, which is not told from noise.
 */
export function isFlat({ mean, per_hour, error_per_hour }: Trend, length_ms: number): boolean {
  const rise = (per_hour * length_ms) / hour_ms;
  return rise <= mean * flat_share || per_hour <= 2 * error_per_hour;
}

const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
