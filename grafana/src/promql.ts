/** A counter per second, over the interval that Grafana deems right for the picture's width. */
export const perSecond = (counter: string): string => `rate(${counter}[$__rate_interval])`;

/** A quantile of a histogram's buckets, over all series or by `labels`. */
export const quantile = (q: number, buckets: string, ...labels: readonly string[]): string =>
  `histogram_quantile(${q}, sum by (${['le', ...labels].join(', ')}) (${perSecond(buckets)}))`;

/** The same quantiles of one histogram as queries, named p50, p99 and so on. */
export function quantiles(
  buckets: string,
  first: number,
  ...others: readonly number[]
): [{ expr: string; legend: string }, ...{ expr: string; legend: string }[]] {
  const query = (q: number) => ({ expr: quantile(q, buckets), legend: `p${q * 100}` });
  return [query(first), ...others.map(query)];
}
