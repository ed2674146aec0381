import { day_ms } from '../common/durations.ts';

/** Rows that one step deleted; `taken` while another instance prunes. */
export type Pruned = number | 'taken';

/** How long sums by the hour are kept. */
export const hours_ms = 92 * day_ms;

/** Deletes old records, at most `limit` in each step, so that nothing waits for it: each step is called again until it deletes none. */
export interface Pruning {
  /** Rows of exchanges that began before, and of their attempts; their sums stay. */
  rows(before_ms: number, limit: number): Promise<Pruned>;
  /** Sums of the months that had ended by then. */
  sums(before_ms: number, limit: number): Promise<Pruned>;
  /** Sums of the hours that had ended by then. */
  hours(before_ms: number, limit: number): Promise<Pruned>;
  /** Sums over time that are not shown any longer at `now_ms`. */
  traffic(now_ms: number, limit: number): Promise<Pruned>;
  /** Ids of batches of refusals that came before; none of them is sent again so late. */
  batches(before_ms: number, limit: number): Promise<Pruned>;
  /** Stored responses that had expired by then; for a store that has them. */
  responses?(before_ms: number, limit: number): Promise<Pruned>;
  /** Requests with an idempotency key that came before; for a store that has them. */
  requests?(before_ms: number, limit: number): Promise<Pruned>;
  /** Creates what the ledger needs for the months to come, where it is divided by month. */
  prepare?(now_ms: number): Promise<void>;
}
