import { Condition } from './condition.ts';
import { type Connection, rowMarks } from './database.ts';
import { KeptSums } from './kept-sums.ts';
import type { RefusalBatch, RefusalCount } from './ledger-entry.ts';
import { dayOf } from './usage-slices.ts';

export interface RefusalQuery {
  readonly account?: string;
  /** `2026-11-20`; both inclusive. */
  readonly from_day?: string;
  readonly to_day?: string;
  readonly limit: number;
}

/** Refusals of one day; `key_id`, `model` and `error_type` are empty where there was none. */
export interface RefusalSum {
  readonly day: string;
  readonly account: string;
  readonly key_id: string;
  readonly model: string;
  readonly status: number;
  readonly error_type: string;
  readonly end_reason: string;
  readonly requests: number;
}

const keys = ['day', 'account', 'key_id', 'model', 'status', 'error_type', 'end_reason'] as const;

/** Adds batches that have not been counted yet to `refusal_sums`, and returns what was in them. */
export async function countOnce(
  connection: Connection,
  batches: readonly RefusalBatch[],
): Promise<RefusalCount[]> {
  if (batches.length === 0) return [];
  const counted = await connection.run<{ id: string }>(
    `INSERT INTO counted_batches (id) VALUES ${rowMarks(batches.length, 1)} ON CONFLICT (id) DO NOTHING RETURNING id`,
    batches.map(({ id }) => id),
  );
  const isNew = new Set(counted.map(({ id }) => id));
  const refusals = batches.filter(({ id }) => isNew.delete(id)).flatMap(batch => batch.refusals);
  const sums = new KeptSums<readonly (string | number)[], { requests: number }>({ requests: 0 });
  for (const refusal of refusals) sums.of(keyOf(refusal)).requests += refusal.requests;
  await sums.addTo(connection, 'refusal_sums', keys);
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

function keyOf({ started_ms, account, key_id, model, status, error_type, end_reason }: RefusalCount) {
  return [dayOf(started_ms), account, key_id ?? '', model ?? '', status, error_type ?? '', end_reason];
}
