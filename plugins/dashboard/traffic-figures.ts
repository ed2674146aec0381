import type { AttemptSum, ExtensionContext, FailurePoint, TrafficQuery } from '../../src/plugin.ts';
import { groupsOf, totalOf } from './traffic-groups.ts';
import { filterOf, rangeAt, sampleFiltersOf, type TrafficQuestion, timeBefore } from './traffic-range.ts';
import type { Traffic } from './view/traffic.ts';

/** Requests of an account that are added up at most; sums of accounts over time are not kept. */
export const max_own_rows = 10_000;

/** What the overview shows of a range. */
export interface TrafficFigures extends Traffic {
  readonly failures: readonly FailurePoint[];
  readonly attempts: readonly AttemptSum[];
  /** Unix milliseconds of the first request that is counted, if there are too many to count all. */
  readonly since_ms: number | undefined;
}

/** Reads the figures of the range that ends now, and of as much time before it. */
export async function trafficOf(
  { catalog, records, clock }: ExtensionContext,
  question: TrafficQuestion,
): Promise<TrafficFigures> {
  const { since, by: split } = question;
  const { traffic, ledger } = records.store;
  const now_ms = clock.epoch_ms();
  const range = rangeAt(since, now_ms);
  const earlier = timeBefore(range, now_ms);
  const filter = filterOf(question);
  const { account, model } = filter;
  const { from_ms: first_ms } = earlier;
  const own = { account, failed: true, from_ms: first_ms, until_ms: range.until_ms };
  // A search, so that there is an edge: that of all requests of the account.
  const edge = account === undefined ? undefined : await ledger.edgeOf(own, max_own_rows);
  const known_ms = edge ? edge.started_ms + 1 : first_ms;
  const upstreams =
    model === undefined ? undefined : (catalog.models.find(({ id }) => id === model)?.upstreams ?? []);
  const query: TrafficQuery = {
    ...range,
    ...filter,
    upstreams,
    from_ms: Math.max(range.from_ms, known_ms),
  };
  const [points, failures, attempts, before] = await Promise.all([
    traffic.points(query, split),
    traffic.failures(query),
    traffic.attempts(query),
    known_ms > first_ms ? [] : traffic.points({ ...query, ...earlier }, split),
  ]);
  const filters = sampleFiltersOf(question);
  return {
    range,
    split,
    filters,
    groups: groupsOf(points, range, split, filters),
    total: totalOf(points),
    before: before.length === 0 ? undefined : totalOf(before),
    failures,
    attempts,
    since_ms: known_ms > range.from_ms ? known_ms : undefined,
  };
}
