import {
  classOfReason,
  classOfType,
  clientTypes,
  day_ms,
  type EndClass,
  firstUuidOf,
  type LedgerQuery,
  refusal_statuses,
  rowMarks,
} from '../../../src/store-plugin.ts';
import { Condition, containing } from './statements.ts';

/** What of the ledger is searched, without the part of it that one page shows. */
type Asked = Omit<LedgerQuery, 'after' | 'before' | 'edge' | 'failed_at' | 'limit'>;

/** Columns that a list can be narrowed by. */
const filters = ['account', 'key_id', 'model', 'provider', 'end_reason'] as const;

/** `endClassOf` of a row, in the same order. */
const end_class = `CASE ${[
  ...casesOf(({ isOpen }) => !isOpen),
  ...casesOf(
    ({ own }) => own === 'provider_failed',
    `error_type IN (${clientTypes.map(type => `'${type}'`).join(', ')})`,
  ),
  ...Object.entries(classOfType).map(([type, name]) => `WHEN error_type = '${type}' THEN '${name}'`),
  ...casesOf(({ own }) => own === 'provider_failed'),
  `WHEN error_type IS NULL AND ledger.status IN (${refusal_statuses.join(', ')}) THEN 'refusal'`,
  "WHEN error_type IS NULL AND ledger.status >= 500 THEN 'gateway_failed'",
  "WHEN error_type IS NULL AND ledger.status >= 400 THEN 'client_error'",
  ...casesOf(() => true),
].join(' ')} END`;

/** The rows that are asked for, of all pages. */
export function conditionOf(asked: Asked): Condition {
  const { from_ms, until_ms, failed, error_classes, error_type, code, request_part, ...equal } = asked;
  const where = new Condition();
  for (const name of filters)
    if (equal[name] === null) where.and(`ledger.${name} IS NULL`);
    else where.and(`ledger.${name} = ?`, equal[name]);
  where.and("LOWER(request_id) LIKE ? ESCAPE '!'", containing(request_part));
  if (failed) where.and('error_type IS NOT NULL');
  if (error_classes?.length)
    where.and(`${end_class} IN ${rowMarks(1, error_classes.length)}`, ...error_classes);
  if (error_type === null) where.and('error_type IS NULL AND ledger.status < 400');
  else if (error_type !== undefined && /^\d{3}$/.test(error_type))
    where.and('error_type IS NULL AND ledger.status >= 400 AND ledger.status = ?', Number(error_type));
  // The other terms let the indexes of failures be used.
  else where.and('error_type = ? AND error_type IS NOT NULL', error_type);
  where.and('code = ? AND error_type IS NOT NULL', code);
  return startedBetween(where, from_ms, until_ms);
}

/** Between the start of a request and its end, by which its id is made, whatever the clock is set to meanwhile. */
const longest_ever_ms = 31 * day_ms;

/** Adds that exchanges began in a time. Postgres finds by their ids in which months they are. */
export const startedBetween = (where: Condition, from_ms?: number, until_ms?: number): Condition =>
  where
    .and('started_ms >= ?', from_ms)
    .and('started_ms < ?', until_ms)
    .and('ledger.id >= ?', idFrom(from_ms && from_ms - longest_ever_ms))
    .and('ledger.id < ?', idFrom(until_ms && until_ms + longest_ever_ms));

/** The rows that are asked for between the places of a query. */
export function conditionBetween(
  { after, before, edge }: Pick<LedgerQuery, 'after' | 'before' | 'edge'>,
  asked: Asked,
): Condition {
  const [oldest, newest] = before ? [before, edge] : [edge, after];
  // Databases look for the first and the last row by these, and compare both columns only then.
  const from_ms = Math.max(oldest?.started_ms ?? 0, asked.from_ms ?? 0) || undefined;
  const until_ms = Math.min(newest ? newest.started_ms + 1 : Infinity, asked.until_ms ?? Infinity);
  return conditionOf({ ...asked, from_ms, until_ms: Number.isFinite(until_ms) ? until_ms : undefined })
    .and('(started_ms, id) < (?, ?)', after?.started_ms, after?.id)
    .and('(started_ms, id) > (?, ?)', before?.started_ms, before?.id)
    .and(`(started_ms, id) ${before ? '<=' : '>='} (?, ?)`, edge?.started_ms, edge?.id);
}

/** Selects the places of the rows among which a query searches, in its order; undefined if an index finds just those that it asks for. */
export function edgeQuery(query: Omit<LedgerQuery, 'edge' | 'limit'>) {
  const { after, before, failed_at, ...asked } = query;
  const searched = searchedIn(asked);
  if (!searched) return undefined;
  const way = before ? 'ASC' : 'DESC';
  if (failed_at === undefined) {
    const { sql, values } = conditionBetween({ after, before }, searched);
    return {
      sql: `SELECT started_ms, id FROM sluice.ledger ${sql} ORDER BY started_ms ${way}, id ${way}`,
      values,
    };
  }
  const { sql, values } = failedAt(new Condition(), failed_at, query);
  // The places of attempts are by id alone.
  const columns = 'CAST(0 AS BIGINT) AS started_ms, ledger_id AS id';
  return {
    sql: `SELECT ${columns} FROM sluice.attempts AS failure ${sql} ORDER BY ledger_id ${way}`,
    values,
  };
}

/** The rows among which those that are asked for are searched, by an index; undefined if the index finds just these. */
function searchedIn({ account, from_ms, until_ms, ...asked }: Asked): Asked | undefined {
  const { failed, error_type, code, ...others } = asked;
  const isNamed = error_type !== undefined || code !== undefined;
  const isFailed = failed || code !== undefined || (error_type != null && !/^\d{3}$/.test(error_type));
  const isNarrowed = isNamed || Object.values(others).some(value => value !== undefined);
  if (account !== undefined) return isNarrowed || failed ? { account, from_ms, until_ms } : undefined;
  return isNarrowed ? { failed: isFailed, from_ms, until_ms } : undefined;
}

/** Requests that go on for longer after the end of a time are not found among those of which an attempt failed in it. */
const longest_ms = day_ms;

/** Adds the failed attempts at `provider` between the places of a query. The ids of rows begin with the time at which their requests ended. */
export const failedAt = (where: Condition, provider: string, query: Partial<LedgerQuery>): Condition => {
  const { from_ms, until_ms, after, before, edge } = query;
  return where
    .and("failure.provider = ? AND failure.outcome = 'failed'", provider)
    .and('ledger_id >= ?', idFrom(from_ms))
    .and('ledger_id < ?', endIdOf(until_ms))
    .and('ledger_id < ?', after?.id)
    .and('ledger_id > ?', before?.id)
    .and(`ledger_id ${before ? '<=' : '>='} ?`, edge?.id);
};

/** Adds that an attempt is the first of its request that failed at its provider. */
export const isFirstFailure = (where: Condition, { from_ms, until_ms }: Partial<LedgerQuery>): Condition => {
  const earlier = new Condition()
    .and('earlier.ledger_id = failure.ledger_id AND earlier.number < failure.number')
    .and("earlier.provider = failure.provider AND earlier.outcome = 'failed'")
    .and('earlier.ledger_id >= ?', idFrom(from_ms))
    .and('earlier.ledger_id < ?', endIdOf(until_ms));
  return where.and(`NOT EXISTS (SELECT 1 FROM sluice.attempts AS earlier ${earlier.sql})`, ...earlier.values);
};

const endIdOf = (until_ms: number | undefined) => idFrom(until_ms && until_ms + longest_ms);

/** The beginning of the ids of rows that were made at a time. */
const idFrom = (epoch_ms: number | undefined): string | undefined =>
  epoch_ms === undefined ? undefined : firstUuidOf(epoch_ms).slice(0, 13);

function casesOf(
  isMeant: (reason: { readonly own: EndClass; readonly isOpen: boolean }) => boolean,
  condition = '',
): string[] {
  const meant = Object.entries(classOfReason).filter(([, reason]) => isMeant(reason));
  return meant.map(
    ([reason, { own }]) => `WHEN end_reason = '${reason}' ${condition && `AND ${condition}`} THEN '${own}'`,
  );
}
