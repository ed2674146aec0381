import {
  type ErrorClass,
  errorClasses,
  first_token_bounds_ms,
  no_model as none,
  picoUsd,
  serviceFailures,
  type TrafficPoint,
  type TrafficRange,
  type TrafficSplit,
  usdOf,
} from '../../src/plugin.ts';
import { pointsIn, type SampleFilters } from './traffic-range.ts';
import type { SeriesLook } from './view/series-looks.ts';

/** What requests add up to. */
export type TrafficSum = Omit<TrafficPoint, 'at_ms' | 'name'>;

/** The requests of one provider, model or type of error. */
export interface TrafficGroup {
  readonly title: string;
  /** How it is drawn; the others have no look. */
  readonly look: SeriesLook | undefined;
  /** The filters of its requests in the list of requests. */
  readonly filters: SampleFilters;
  /** A sum for each point of the range. */
  readonly points: readonly TrafficSum[];
  readonly total: TrafficSum;
}

/** Groups that are shown apart; the others are one. */
const max_groups = 4;

const nameless: Readonly<Record<TrafficSplit, string>> = {
  provider: 'no provider asked',
  model: 'no known model',
  error_type: 'no error',
};

/** The largest groups, in the order of their names, then the others as one. */
export function groupsOf(
  points: readonly TrafficPoint[],
  range: TrafficRange,
  split: TrafficSplit,
  filters: SampleFilters,
): TrafficGroup[] {
  const times = pointsIn(range);
  const sizes = [...Map.groupBy(points, ({ name }) => name)]
    .map(([name, members]) => ({ name, members, size: totalOf(members).requests }))
    .sort((a, b) => b.size - a.size);
  const apart = sizes.length > max_groups + 1 ? sizes.slice(0, max_groups) : sizes;
  const groups = apart
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, members }, at) => ({
      title: name || nameless[split],
      look: { colour: at + 1, pattern: 'solid' as const },
      filters: { ...filters, [split]: name || none },
      ...summed(members, times),
    }));
  const rest = sizes.slice(apart.length);
  if (rest.length === 0) return groups;
  const others = summed(
    rest.flatMap(({ members }) => members),
    times,
  );
  return [...groups, { title: `${rest.length} others`, look: undefined, filters, ...others }];
}

function summed(members: readonly TrafficPoint[], times: readonly number[]) {
  const byTime = Map.groupBy(members, ({ at_ms }) => at_ms);
  return { points: times.map(at_ms => totalOf(byTime.get(at_ms) ?? [])), total: totalOf(members) };
}

/** What several sums add up to. */
export function totalOf(sums: readonly TrafficSum[]): TrafficSum {
  if (sums.length === 1) return sums[0]!;
  const count = (of: (sum: TrafficSum) => number) => sums.reduce((total, sum) => total + of(sum), 0);
  const errors = Object.fromEntries(errorClasses.map(name => [name, count(sum => sum[name])]));
  // One more than the bounds: that of all that took longer.
  const times = (of: (sum: TrafficSum) => readonly number[]) =>
    [...first_token_bounds_ms, Infinity].map((_, at) => count(sum => of(sum)[at]!));
  return {
    requests: count(sum => sum.requests),
    tokens: count(sum => sum.tokens),
    cost_usd: usdOf(sums.reduce((total, { cost_usd }) => total + picoUsd(cost_usd), 0n)),
    ...(errors as Record<ErrorClass, number>),
    first_tokens: times(sum => sum.first_tokens),
    attempt_first_tokens: times(sum => sum.attempt_first_tokens),
  };
}

/** Share of requests that failed at providers or in the gateway; undefined without any. Refusals and clients' errors are none of them. */
export const failureRateOf = (sum: TrafficSum): number | undefined =>
  sum.requests === 0 ? undefined : failuresIn(sum) / sum.requests;

/** How many failed at providers or in the gateway. */
export const failuresIn = (sum: TrafficSum): number =>
  serviceFailures.reduce((failed, name) => failed + sum[name], 0);

/** The time within which a share of requests or attempts had their first token, in milliseconds; undefined without any. */
export const firstTokenWithin = (first_tokens: readonly number[], share: number): number | undefined =>
  timeWithin(first_tokens, first_token_bounds_ms, share);

/** The time within which a share of `counts` lies; between the bounds as if they were spread evenly, and the last bound for later ones. */
export function timeWithin(
  counts: readonly number[],
  bounds_ms: readonly number[],
  share: number,
): number | undefined {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return undefined;
  let rest = all * share;
  for (const [at, count] of counts.entries()) {
    const from_ms = bounds_ms[at - 1] ?? 0;
    const bound_ms = bounds_ms[at] ?? from_ms;
    if (count > 0 && count >= rest) return from_ms + (bound_ms - from_ms) * (rest / count);
    rest -= count;
  }
  return bounds_ms.at(-1);
}
