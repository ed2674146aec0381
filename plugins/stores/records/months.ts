import { firstUuidOf, monthOf, monthStart } from '../../../src/store-plugin.ts';

/**
 * Postgres stores the ledger, and its attempts, in a table for each month: partitions by the ids of the rows, which begin with the time at
 * which the exchange ended. So a row that is sent twice meets itself in the same month, its attempts lie in the same month as it does, and
 * all rows of a month are deleted at once. What has no month is in `ledger_others`: rows that come after theirs was deleted or from a clock
 * that is months ahead, and those of a role that may not create tables.
 */
export const monthlyTables = [
  { table: 'ledger', key: 'id' },
  { table: 'attempts', key: 'ledger_id' },
] as const;

/** How many months have their tables before they begin. */
export const months_ahead = 2;

/** A month in UTC. */
export interface Month {
  /** `2026_12`: behind the name of the table and `_` it is the name of the month's. */
  readonly suffix: string;
  /** Ids of the month are not below. */
  readonly first_id: string;
  /** Ids of the month are below. */
  readonly end_id: string;
  readonly end_ms: number;
}

/** The month of a time, or one that many months later. */
export function monthAt(epoch_ms: number, later = 0): Month {
  const start_ms = monthStart(epoch_ms, later);
  const end_ms = monthStart(start_ms, 1);
  const suffix = monthOf(start_ms).replace('-', '_');
  return { suffix, first_id: firstUuidOf(start_ms), end_id: firstUuidOf(end_ms), end_ms };
}

/** The months from that of a time on whose tables should be there. */
export const monthsFrom = (epoch_ms: number): Month[] =>
  Array.from({ length: months_ahead + 1 }, (_, later) => monthAt(epoch_ms, later));

/** Creates an empty table for a month. */
export const creationOf = (table: string, { suffix }: Month): string =>
  `CREATE TABLE sluice.${table}_${suffix} (LIKE sluice.${table} INCLUDING ALL)`;

/** Makes it the one into which rows of the month are written. */
export const attachmentOf = (table: string, { suffix, first_id, end_id }: Month): string =>
  `ALTER TABLE sluice.${table} ATTACH PARTITION sluice.${table}_${suffix} FOR VALUES FROM ('${first_id}') TO ('${end_id}')`;
