import {
  type Database,
  duration_bounds_ms,
  endClassOf,
  type FailurePoint,
  first_token_bounds_ms,
  isErrorClass,
  noErrors,
  picoUsd,
  type TrafficPoint,
  type TrafficQuery,
  type TrafficRange,
  type TrafficRecords,
  usdOf,
  type Value,
} from '../../../src/store-plugin.ts';
import { startedBetween } from './ledger-query.ts';
import { Condition } from './statements.ts';
import { durationColumns, firstTokenColumns } from './traffic-sums.ts';
import { partsOf, usdFrom } from './usage-records.ts';

type Counted<Names extends string> = Readonly<
  Record<Names, string> &
    Record<
      | 'point_ms'
      | 'requests'
      | 'attempts'
      | 'tokens'
      | `cost_${string}`
      | `first_${string}`
      | `took_${string}`,
      number
    >
>;

const sumsOf = (columns: readonly string[]): string =>
  columns.map(name => `SUM(${name}) AS ${name}`).join(', ');

/** The point in which a sum lies. */
const pointOf = ({ point_ms }: TrafficRange): string => `at_ms - at_ms % ${Math.trunc(point_ms)}`;

/** What is added up, and which of it. */
interface Source {
  readonly from: string;
  readonly where: Condition;
  readonly values: readonly Value[];
}

/** The kept sums in `table`, or, of an account, the rows of `ownRows` as if each were a sum. */
function sourceOf(query: TrafficQuery, table: 'traffic_sums' | 'attempt_sums', ownRows: string): Source {
  const { account, step_ms, from_ms, until_ms, provider } = query;
  const where = new Condition()
    .and('at_ms >= ?', from_ms)
    .and('at_ms < ?', until_ms)
    .and('provider = ?', provider);
  if (account === undefined)
    return { from: `sluice.${table}`, where: where.and('step_ms = ?', step_ms), values: [] };
  const own = startedBetween(new Condition().and('account = ?', account), from_ms, until_ms);
  return { from: `(${ownRows} ${own.sql}) AS own`, where, values: own.values };
}

const requestsIn = (query: TrafficQuery): Source => {
  const source = sourceOf(query, 'traffic_sums', requestRows);
  source.where.and('model = ?', query.model);
  return source;
};

function attemptsIn(query: TrafficQuery): Source {
  const source = sourceOf(query, 'attempt_sums', attemptRows);
  const pairs = query.upstreams?.map(({ provider, model }) => [provider, model] as const);
  if (pairs?.length === 0) source.where.and('1 = 0');
  else if (pairs)
    source.where.and(`(${pairs.map(() => '(provider = ? AND model = ?)').join(' OR ')})`, ...pairs.flat());
  return source;
}

/** How often a time is up to each bound, as columns. */
const countsUpTo = (time: string, columns: readonly string[], bounds_ms: readonly number[]): string =>
  columns
    .map((column, at) => {
      const above = at === 0 ? `${time} IS NOT NULL` : `${time} > ${bounds_ms[at - 1]}`;
      const upTo = at < bounds_ms.length ? ` AND ${time} <= ${bounds_ms[at]}` : '';
      return `CASE WHEN ${above}${upTo} THEN 1 ELSE 0 END AS ${column}`;
    })
    .join(', ');

const requestRows = `SELECT started_ms AS at_ms, COALESCE(provider, '') AS provider, COALESCE(model, '') AS model,
  COALESCE(error_type, CASE WHEN status >= 400 THEN CAST(status AS TEXT) ELSE '' END) AS error_type, end_reason,
  1 AS requests, prompt_tokens + completion_tokens AS tokens, cost_pico_usd,
  ${countsUpTo('first_token_ms', firstTokenColumns, first_token_bounds_ms)}
  FROM sluice.ledger`;

const attemptRows = `SELECT started_ms + attempt.offset_ms AS at_ms, COALESCE(attempt.provider, '') AS provider,
  COALESCE(attempt.model, '') AS model, COALESCE(attempt.outcome, '') AS outcome, COALESCE(attempt.kind, '') AS kind, 1 AS attempts,
  ${countsUpTo('attempt.first_token_ms', firstTokenColumns, first_token_bounds_ms)},
  ${countsUpTo('attempt.duration_ms', durationColumns, duration_bounds_ms)}
  FROM sluice.ledger JOIN sluice.attempts AS attempt ON attempt.ledger_id = ledger.id`;

/** Sums over time of what all instances have served, at most 62 days back; those of an account from its rows of the ledger. */
export const trafficRecords = (database: Database): TrafficRecords => {
  const read = async <R extends object>(
    query: TrafficQuery,
    of: typeof requestsIn,
    sql: (from: string) => string,
  ) => {
    if (query.account !== undefined) await database.settle?.();
    const { from, where, values } = of(query);
    return database.run<R>(sql(`FROM ${from} ${where.sql}`), [...values, ...where.values]);
  };
  return {
    async points(query, split) {
      const point = pointOf(query);
      const [ends, attempts] = await Promise.all([
        read<Counted<'name' | 'error_type' | 'end_reason'>>(
          query,
          requestsIn,
          from => `SELECT ${point} AS point_ms, ${split} AS name, error_type, end_reason, ${partsOf('cost').join(', ')},
          ${sumsOf(['requests', 'tokens', ...firstTokenColumns])} ${from} GROUP BY 1, 2, 3, 4`,
        ),
        split === 'provider'
          ? read<Counted<'name'>>(
              query,
              attemptsIn,
              from =>
                `SELECT ${point} AS point_ms, provider AS name, ${sumsOf(firstTokenColumns)} ${from} GROUP BY 1, 2`,
            )
          : undefined,
      ]);
      return pointsFrom(ends, attempts);
    },

    failures: query =>
      read<FailurePoint>(
        query,
        of => {
          const source = requestsIn(of);
          source.where.and("error_type <> ''");
          return source;
        },
        from => `SELECT ${pointOf(query)} AS at_ms, provider, model, error_type, end_reason, SUM(requests) AS requests
        ${from} GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`,
      ),

    async attempts(query) {
      const rows = await read<Counted<'provider' | 'model' | 'outcome' | 'kind'>>(
        query,
        attemptsIn,
        from => `SELECT provider, model, outcome, kind, SUM(attempts) AS attempts, ${sumsOf([...firstTokenColumns, ...durationColumns])}
        ${from} GROUP BY 1, 2, 3, 4 ORDER BY provider, model, attempts DESC, outcome, kind`,
      );
      return rows.map(({ provider, model, outcome, kind, attempts, ...counts }) => ({
        provider,
        model,
        outcome,
        kind,
        attempts,
        first_tokens: firstTokenColumns.map(column => counts[column]!),
        durations: durationColumns.map(column => counts[column]!),
      }));
    },
  };
};

function pointsFrom(
  ends: readonly Counted<'name' | 'error_type' | 'end_reason'>[],
  attempts: readonly Counted<'name'>[] | undefined,
): TrafficPoint[] {
  const points = new PointSums();
  for (const { error_type, end_reason, ...end } of ends) {
    const point = points.of(end);
    point.requests += end.requests;
    point.tokens += end.tokens;
    point.cost_usd = usdOf(picoUsd(point.cost_usd) + picoUsd(usdFrom(end.cost_micro_usd!, end.cost_rest!)));
    const end_class = endClassOf(end_reason, error_type);
    if (isErrorClass(end_class)) point[end_class] += end.requests;
    addTo(point.first_tokens, end);
  }
  for (const row of attempts ?? ends) addTo(points.of(row).attempt_first_tokens, row);
  return points.ordered();
}

function addTo(first_tokens: number[], counts: Counted<never>): void {
  for (const [at, column] of firstTokenColumns.entries()) first_tokens[at]! += counts[column]!;
}

/** Points by time and name, to which rows are added. */
class PointSums {
  readonly #points = new Map<string, OpenPoint>();

  /** The point of a row. */
  of({ point_ms, name }: Pick<Counted<'name'>, 'point_ms' | 'name'>): OpenPoint {
    const key = `${point_ms}\n${name}`;
    let point = this.#points.get(key);
    if (!point) {
      const nothing = { requests: 0, tokens: 0, cost_usd: '0', ...noErrors };
      const [first_tokens, attempt_first_tokens] = [noFirstTokens(), noFirstTokens()];
      point = { at_ms: point_ms, name, ...nothing, first_tokens, attempt_first_tokens };
      this.#points.set(key, point);
    }
    return point;
  }

  /** In the order of time and name. */
  ordered(): TrafficPoint[] {
    return [...this.#points.values()].sort((a, b) => a.at_ms - b.at_ms || (a.name < b.name ? -1 : 1));
  }
}

const noFirstTokens = () => firstTokenColumns.map(() => 0);

type FirstTokens = 'first_tokens' | 'attempt_first_tokens';
type OpenPoint = { -readonly [Field in keyof Omit<TrafficPoint, FirstTokens>]: TrafficPoint[Field] } & {
  readonly [Field in FirstTokens]: number[];
};
