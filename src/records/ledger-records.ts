import type { ErrorClass } from '../common/end-class.ts';
import type { LedgerEntry, LedgerRow } from '../gateway/settlement/ledger-entry.ts';

/** A row as lists have it. */
export type ListedRow = Omit<LedgerRow, 'attempts_made' | 'stages'>;

/** What of the ledger is listed. */
export interface LedgerQuery {
  /** Id of the account. */
  readonly account?: string | undefined;
  /** A part of the request id, in any case. */
  readonly request_part?: string | undefined;
  /** Id of the key. */
  readonly key_id?: string | undefined;
  /** `null` for those without a known model. */
  readonly model?: string | null | undefined;
  /** Of the last attempt; `null` for those that asked none. */
  readonly provider?: string | null | undefined;
  /** A provider of which an attempt failed, whatever came of the request. Those that ended last are listed first. */
  readonly failed_at?: string | undefined;
  /** Why it ended. */
  readonly end_reason?: string | undefined;
  /** Only errors of these classes, if given. */
  readonly error_classes?: readonly ErrorClass[] | undefined;
  /** Type of the error, or the status of an error without a type; `null` for those without an error. */
  readonly error_type?: string | null | undefined;
  /** Name of the error in the catalogue. */
  readonly code?: string | undefined;
  /** Only those whose client got an error, if true. */
  readonly failed?: boolean | undefined;
  /** Unix milliseconds; inclusive. */
  readonly from_ms?: number | undefined;
  /** Exclusive. */
  readonly until_ms?: number | undefined;
  /** The last row of the page before. */
  readonly after?: LedgerPlace | undefined;
  /** The first row of the page after: the `limit` rows that are next newer are listed, if given. */
  readonly before?: LedgerPlace | undefined;
  /** The last row that is searched, the oldest one or with `before` the newest one. */
  readonly edge?: LedgerPlace | undefined;
  /** How many at most. */
  readonly limit: number;
}

/** The place of a row in the ledger, which is in the order of time. */
export type LedgerPlace = Pick<LedgerRow, 'started_ms' | 'id'>;

/** The ledger: every settled exchange of an account that asked an upstream, some of those that were refused before, and what all add up to. */
export interface LedgerRecords {
  /** Writes what is not there yet, by id, and adds it to the sums, all or none. Returns how many rows were new. */
  insert(entries: readonly LedgerEntry[]): Promise<number>;
  /** A page of rows, newest first. */
  list(query: LedgerQuery): Promise<ListedRow[]>;
  /** The `limit` rows that took longest or cost most, the largest first, among the newest `among` of those that `query` describes. */
  largest?(
    by: 'duration_ms' | 'cost_usd',
    query: Omit<LedgerQuery, 'after' | 'before'>,
    among: number,
  ): Promise<ListedRow[]>;
  /**
   * The row at which a search for this page should end, behind `rows` others, so that what is rare takes no longer to look for than what is
   * frequent. Undefined if there are not so many, or if an index finds what is asked for.
   */
  edgeOf(query: Omit<LedgerQuery, 'edge' | 'limit'>, rows: number): Promise<LedgerPlace | undefined>;
  /** The exchanges with this request id, of all accounts or one, newest first, at most 100: clients choose it, and may use one again. */
  find(request_id: string, account?: string): Promise<LedgerRow[]>;
}
