import {
  type Database,
  endClassOf,
  type FailurePoint,
  isErrorClass,
  noErrors,
  type TrafficPoint,
  type TrafficRange,
  type TrafficRecords,
} from '../../../src/plugin.ts';
import { Condition } from './statements.ts';
import { durationColumns, firstTokenColumns } from './traffic-sums.ts';

type Counted<Names extends string> = Readonly<
  Record<Names, string> &
    Record<'point_ms' | 'requests' | 'attempts' | `first_${string}` | `took_${string}`, number>
>;

const sumsOf = (columns: readonly string[]): string =>
  columns.map(name => `SUM(${name}) AS ${name}`).join(', ');

const whereOf = ({ step_ms, from_ms, until_ms }: TrafficRange): Condition =>
  new Condition().and('step_ms = ?', step_ms).and('at_ms >= ?', from_ms).and('at_ms < ?', until_ms);

/** The point in which a sum lies. */
const pointOf = ({ point_ms }: TrafficRange): string => `at_ms - at_ms % ${Math.trunc(point_ms)}`;

/** Sums over time of what all instances have served, at most 32 days back. */
export const trafficRecords = (database: Database): TrafficRecords => ({
  async points(range, split) {
    const { sql, values } = whereOf(range);
    const point = pointOf(range);
    const [ends, attempts] = await Promise.all([
      database.run<Counted<'name' | 'error_type' | 'end_reason'>>(
        `SELECT ${point} AS point_ms, ${split} AS name, error_type, end_reason, SUM(requests) AS requests, ${sumsOf(firstTokenColumns)}
        FROM sluice.traffic_sums ${sql} GROUP BY 1, 2, 3, 4`,
        values,
      ),
      split === 'provider'
        ? database.run<Counted<'name'>>(
            `SELECT ${point} AS point_ms, provider AS name, ${sumsOf(firstTokenColumns)}
            FROM sluice.attempt_sums ${sql} GROUP BY 1, 2`,
            values,
          )
        : undefined,
    ]);
    const points = new PointSums();
    for (const { error_type, end_reason, ...end } of ends) {
      const point = points.of(end);
      point.requests += end.requests;
      const end_class = endClassOf(end_reason, error_type);
      if (isErrorClass(end_class)) point[end_class] += end.requests;
    }
    for (const row of attempts ?? ends) {
      const { first_tokens } = points.of(row);
      for (const [at, column] of firstTokenColumns.entries()) first_tokens[at]! += row[column]!;
    }
    return points.ordered();
  },

  failures(range) {
    const { sql, values } = whereOf(range).and("error_type <> ''");
    return database.run<FailurePoint>(
      `SELECT ${pointOf(range)} AS at_ms, provider, model, error_type, end_reason, SUM(requests) AS requests
      FROM sluice.traffic_sums ${sql} GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`,
      values,
    );
  },

  async attempts(range) {
    const { sql, values } = whereOf(range);
    const rows = await database.run<Counted<'provider' | 'outcome' | 'kind'>>(
      `SELECT provider, outcome, kind, SUM(attempts) AS attempts, ${sumsOf(durationColumns)} FROM sluice.attempt_sums ${sql}
      GROUP BY provider, outcome, kind ORDER BY provider, attempts DESC, outcome, kind`,
      values,
    );
    return rows.map(({ provider, outcome, kind, attempts, ...counts }) => ({
      provider,
      outcome,
      kind,
      attempts,
      durations: durationColumns.map(column => counts[column]!),
    }));
  },
});

/** Points by time and name, to which rows are added. */
class PointSums {
  readonly #points = new Map<string, OpenPoint>();

  /** The point of a row. */
  of({ point_ms, name }: Pick<Counted<'name'>, 'point_ms' | 'name'>): OpenPoint {
    const key = `${point_ms}\n${name}`;
    let point = this.#points.get(key);
    if (!point) {
      const first_tokens = firstTokenColumns.map(() => 0);
      this.#points.set(key, (point = { at_ms: point_ms, name, requests: 0, ...noErrors, first_tokens }));
    }
    return point;
  }

  /** In the order of time and name. */
  ordered(): TrafficPoint[] {
    return [...this.#points.values()].sort((a, b) => a.at_ms - b.at_ms || (a.name < b.name ? -1 : 1));
  }
}

type OpenPoint = { -readonly [Field in keyof Omit<TrafficPoint, 'first_tokens'>]: TrafficPoint[Field] } & {
  readonly first_tokens: number[];
};
