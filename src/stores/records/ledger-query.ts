import { Condition } from './database.ts';
import { timeOrderedUuid } from './ids.ts';
import type { LedgerRow } from './ledger-entry.ts';

/** What of the ledger is listed. */
export interface LedgerQuery {
  readonly account?: string | undefined;
  readonly key_id?: string | undefined;
  /** `null` for those without a known model. */
  readonly model?: string | null | undefined;
  /** Of the last attempt; `null` for those that asked none. */
  readonly provider?: string | null | undefined;
  /** A provider of which an attempt failed, whatever came of the request. Those that ended last are listed first. */
  readonly failed_at?: string | undefined;
  readonly end_reason?: string | undefined;
  /** Type of the error, or the status of an error without a type; `null` for those without an error. */
  readonly error_type?: string | null | undefined;
  /** Name of the error in the catalogue. */
  readonly code?: string | undefined;
  /** Only those whose client got an error, if true. */
  readonly failed?: boolean | undefined;
  readonly from_ms?: number | undefined;
  /** Exclusive. */
  readonly until_ms?: number | undefined;
  /** The last row of the page before. */
  readonly after?: Pick<LedgerRow, 'started_ms' | 'id'> | undefined;
  /** The first row of the page after: the `limit` rows that are next newer are listed, if given. */
  readonly before?: Pick<LedgerRow, 'started_ms' | 'id'> | undefined;
  readonly limit: number;
}

/** Columns that a list can be narrowed by. */
const filters = ['account', 'key_id', 'model', 'provider', 'end_reason'] as const;

/** The rows that are asked for, of all pages. */
export function conditionOf(asked: Omit<LedgerQuery, 'after' | 'before' | 'failed_at' | 'limit'>): Condition {
  const { from_ms, until_ms, failed, error_type, code, ...equal } = asked;
  const where = new Condition();
  for (const name of filters)
    if (equal[name] === null) where.and(`ledger.${name} IS NULL`);
    else where.and(`ledger.${name} = ?`, equal[name]);
  if (failed) where.and('error_type IS NOT NULL');
  if (error_type === null) where.and('error_type IS NULL AND ledger.status < 400');
  else if (error_type !== undefined && /^\d{3}$/.test(error_type))
    where.and('error_type IS NULL AND ledger.status >= 400 AND ledger.status = ?', Number(error_type));
  // The other terms let the indexes of failures be used.
  else where.and('error_type = ? AND error_type IS NOT NULL', error_type);
  where.and('code = ? AND error_type IS NOT NULL', code);
  return where.and('started_ms >= ?', from_ms).and('started_ms < ?', until_ms);
}

/** Requests that go on for longer after the end of a time are not found among those of which an attempt failed in it. */
const longest_ms = 86_400_000;

/** Adds the first failed attempt of each request at `provider`. The ids of rows begin with the time at which their requests ended. */
export const failedAt = (
  where: Condition,
  provider: string,
  { from_ms, until_ms }: Partial<LedgerQuery>,
): Condition =>
  where
    .and("failure.provider = ? AND failure.outcome = 'failed'", provider)
    .and('ledger_id >= ?', idFrom(from_ms))
    .and('ledger_id < ?', idFrom(until_ms === undefined ? undefined : until_ms + longest_ms))
    .and(`NOT EXISTS (SELECT 1 FROM sluice.attempts AS earlier WHERE earlier.ledger_id = failure.ledger_id
      AND earlier.number < failure.number AND earlier.provider = failure.provider AND earlier.outcome = 'failed')`);

/** The beginning of the ids of rows that were made at a time. */
const idFrom = (epoch_ms: number | undefined): string | undefined =>
  epoch_ms === undefined ? undefined : timeOrderedUuid(epoch_ms).slice(0, 13);
