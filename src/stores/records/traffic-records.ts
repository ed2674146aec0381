import { Condition, type Database } from './database.ts';
import { firstTokenColumns } from './traffic-sums.ts';

/** What requests over time can be split by. */
export const trafficSplits = ['provider', 'model', 'error_type'] as const;
export type TrafficSplit = (typeof trafficSplits)[number];

/** A time, and the points that it is divided into. Milliseconds; `point_ms` is a multiple of `step_ms`, which is one of `trafficSteps`. */
export interface TrafficRange {
  readonly step_ms: number;
  readonly point_ms: number;
  readonly from_ms: number;
  /** Exclusive. */
  readonly until_ms: number;
}

/** The requests of one point and one name. */
export interface TrafficPoint {
  readonly at_ms: number;
  /** Of the provider that was asked last, the model, or the error's type; empty for none. */
  readonly name: string;
  readonly requests: number;
  /** Those whose client got an error. */
  readonly failed_requests: number;
  /** Requests by their time to the first token, as `first_token_bounds_ms`; the last count is of all that took longer. */
  readonly first_tokens: readonly number[];
}

/** The failed requests of one point and one cause. Provider and model are empty for none. */
export interface FailurePoint {
  readonly at_ms: number;
  readonly provider: string;
  readonly model: string;
  readonly error_type: string;
  readonly end_reason: string;
  readonly requests: number;
}

/** How many attempts of a provider ended in the same way; `kind` is that of a failure. */
export interface AttemptSum {
  readonly provider: string;
  readonly outcome: string;
  readonly kind: string;
  readonly attempts: number;
}

type StoredPoint = Omit<TrafficPoint, 'first_tokens'> & Readonly<Record<string, number>>;

const whereOf = ({ step_ms, from_ms, until_ms }: TrafficRange): Condition =>
  new Condition().and('step_ms = ?', step_ms).and('at_ms >= ?', from_ms).and('at_ms < ?', until_ms);

/** The point in which a sum lies. */
const pointOf = ({ point_ms }: TrafficRange): string => `at_ms - at_ms % ${Math.trunc(point_ms)}`;

/** Sums over time of what all instances have served, at most 32 days back. */
export const trafficRecords = (database: Database) => ({
  /** Requests by point and `split`, in the order of time. */
  async points(range: TrafficRange, split: TrafficSplit): Promise<TrafficPoint[]> {
    const { sql, values } = whereOf(range);
    const rows = await database.run<StoredPoint>(
      `SELECT ${pointOf(range)} AS point_ms, ${split} AS name, SUM(requests) AS requests,
      SUM(CASE WHEN error_type <> '' THEN requests ELSE 0 END) AS failed_requests,
      ${firstTokenColumns.map(name => `SUM(${name}) AS ${name}`).join(', ')}
      FROM sluice.traffic_sums ${sql} GROUP BY 1, 2 ORDER BY 1, 2`,
      values,
    );
    return rows.map(({ point_ms, name, requests, failed_requests, ...counts }) => ({
      at_ms: point_ms!,
      name,
      requests,
      failed_requests,
      first_tokens: firstTokenColumns.map(column => counts[column]!),
    }));
  },

  /** Failed requests by point and cause, in the order of time. */
  failures(range: TrafficRange): Promise<FailurePoint[]> {
    const { sql, values } = whereOf(range).and("error_type <> ''");
    return database.run<FailurePoint>(
      `SELECT ${pointOf(range)} AS at_ms, provider, model, error_type, end_reason, SUM(requests) AS requests
      FROM sluice.traffic_sums ${sql} GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`,
      values,
    );
  },

  /** Attempts by provider and how they ended, failed ones that a later attempt made good included. */
  attempts(range: TrafficRange): Promise<AttemptSum[]> {
    const { sql, values } = whereOf(range);
    return database.run<AttemptSum>(
      `SELECT provider, outcome, kind, SUM(attempts) AS attempts FROM sluice.attempt_sums ${sql}
      GROUP BY provider, outcome, kind ORDER BY provider, attempts DESC, outcome, kind`,
      values,
    );
  },
});

export type TrafficRecords = ReturnType<typeof trafficRecords>;
