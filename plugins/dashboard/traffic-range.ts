import {
  day_ms,
  hour_ms,
  minute_ms,
  no_model as none,
  type TrafficFilter,
  type TrafficRange,
  type TrafficSplit,
  trafficSplits,
} from '../../src/plugin.ts';
import { linkOf, minuteOf } from './view/format.ts';

interface Range {
  /** As in “the last hour”. */
  readonly title: string;
  readonly short: string;
  readonly ms: number;
  readonly step_ms: number;
  readonly point_ms: number;
}

/** How far back the overview goes, by the name in the address. Each has at most 60 points. */
export const ranges = {
  quarter: {
    title: '15 minutes',
    short: '15 min',
    ms: 15 * minute_ms,
    step_ms: minute_ms,
    point_ms: minute_ms,
  },
  hour: { title: 'hour', short: '1 h', ms: hour_ms, step_ms: minute_ms, point_ms: minute_ms },
  'six-hours': {
    title: '6 hours',
    short: '6 h',
    ms: 6 * hour_ms,
    step_ms: minute_ms,
    point_ms: 10 * minute_ms,
  },
  day: {
    title: '24 hours',
    short: '24 h',
    ms: day_ms,
    step_ms: 10 * minute_ms,
    point_ms: 30 * minute_ms,
  },
  week: { title: '7 days', short: '7 days', ms: 7 * day_ms, step_ms: hour_ms, point_ms: 3 * hour_ms },
  month: { title: '30 days', short: '30 days', ms: 30 * day_ms, step_ms: hour_ms, point_ms: 12 * hour_ms },
} as const satisfies Readonly<Record<string, Range>>;

type RangeName = keyof typeof ranges;

/** Filters of the overview, by name in its address; each is empty where there is none, and all combine. */
const trafficFilters = ['account', 'model', 'provider'] as const;

/** What the overview shows of the past, as its address says. */
export interface TrafficQuestion extends Readonly<Record<(typeof trafficFilters)[number], string>> {
  readonly since: RangeName;
  readonly by: TrafficSplit;
}

/** Reads the question from the address; what is missing or makes no sense has its default. */
export function trafficQuestionOf(query: URLSearchParams): TrafficQuestion {
  const given = (name: string) => (query.get(name) ?? '').trim();
  const since = given('since');
  return {
    since: Object.hasOwn(ranges, since) ? (since as RangeName) : 'hour',
    by: trafficSplits.find(split => split === given('by')) ?? 'provider',
    account: given('account'),
    model: given('model'),
    provider: given('provider'),
  };
}

/** The address of the overview that asks this. */
export const overviewLink = (question: TrafficQuestion): string => linkOf('.', { ...question });

/** What the filters mean to the records. */
export const filterOf = ({ account, model, provider }: TrafficQuestion): TrafficFilter => ({
  account: account || undefined,
  model: model === none ? '' : model || undefined,
  provider: provider === none ? '' : provider || undefined,
});

/** The filters that are set, as the list of requests has them. */
export const sampleFiltersOf = ({ account, model, provider }: TrafficQuestion): SampleFilters =>
  Object.fromEntries(Object.entries({ account, model, provider }).filter(([, name]) => name !== ''));

/** The time that ends with the point of `now_ms`. */
export function rangeAt(since: RangeName, now_ms: number): TrafficRange {
  const { ms, step_ms, point_ms } = ranges[since];
  const until_ms = (Math.floor(now_ms / point_ms) + 1) * point_ms;
  return { step_ms, point_ms, from_ms: until_ms - ms, until_ms };
}

/** As much time before `range` as has passed of it. It is one point. */
export function timeBefore({ from_ms, until_ms, step_ms }: TrafficRange, now_ms: number): TrafficRange {
  const length_ms = until_ms - from_ms;
  const before_ms = from_ms - length_ms;
  const end_ms = Math.round((Math.min(now_ms, until_ms) - length_ms) / step_ms) * step_ms;
  return {
    step_ms,
    point_ms: length_ms,
    from_ms: before_ms,
    until_ms: Math.max(end_ms, before_ms + step_ms),
  };
}

/** The points of a range, by their beginnings. */
export const pointsIn = ({ from_ms, until_ms, point_ms }: TrafficRange): readonly number[] =>
  Array.from({ length: (until_ms - from_ms) / point_ms }, (_, at) => from_ms + at * point_ms);

/** `12:05`, or `11-20 12:05` in a range of several days; in UTC. */
export const pointLabel = (at_ms: number, { from_ms, until_ms }: TrafficRange): string =>
  minuteOf(at_ms).slice(until_ms - from_ms > day_ms ? 5 : 11);

/** Filters of the list of requests, by name in its address. */
export type SampleFilters = Readonly<
  Partial<Record<'account' | 'provider' | 'model' | 'error_type' | 'end' | 'failed_at', string>>
>;

/** The list of requests of a time. */
export const samplesLink = (from_ms: number, until_ms: number, filters: SampleFilters = {}): string =>
  linkOf('requests', { since: timeText(from_ms), until: timeText(until_ms), ...filters });

const timeText = (epoch_ms: number): string => `${new Date(epoch_ms).toISOString().slice(0, 16)}Z`;
