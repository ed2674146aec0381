import { dayOf } from './calendar-day.ts';
import { Condition, type Connection, insertOnce } from './database.ts';
import { KeptSums, sumKeys } from './kept-sums.ts';
import type { RefusalBatch, RefusalCount } from './ledger-entry.ts';

export interface RefusalQuery {
  readonly account?: string;
  /** `2026-11-20`; both inclusive. */
  readonly from_day?: string;
  readonly to_day?: string;
  readonly limit: number;
}

const keys = sumKeys.refusal_sums;

/** Refusals of one day; `key_id`, `model` and `error_type` are empty where there was none. */
export type RefusalSum = Readonly<Record<Exclude<(typeof keys)[number], 'status'>, string>> &
  Readonly<Record<'status' | 'requests', number>>;

/** Adds batches that have not been counted yet to `refusal_sums`, and returns what was in them. */
export async function countOnce(
  connection: Connection,
  batches: readonly RefusalBatch[],
): Promise<RefusalCount[]> {
  const uncounted = await insertOnce(connection, 'counted_batches', ['id'], batches, ({ id }) => [id]);
  const refusals = uncounted.flatMap(batch => batch.refusals);
  const sums = new KeptSums();
  for (const refusal of refusals) {
    const stored = { ...refusal, day: dayOf(refusal.started_ms) };
    sums.add(
      keys.map(name => stored[name] ?? ''),
      { requests: refusal.requests },
    );
  }
  await sums.write(connection, 'refusal_sums');
  return refusals;
}

/** The most frequent first. */
export function refusals(connection: Connection, query: RefusalQuery): Promise<RefusalSum[]> {
  const { account, from_day, to_day, limit } = query;
  const where = new Condition().and('day >= ?', from_day).and('day <= ?', to_day).and('account = ?', account);
  return connection.run<RefusalSum>(
    `SELECT ${keys.join(', ')}, requests FROM refusal_sums ${where.sql}
    ORDER BY requests DESC, ${keys.join(', ')} LIMIT ?`,
    [...where.values, limit],
  );
}
