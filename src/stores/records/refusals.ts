import { Condition } from './condition.ts';
import { type Connection, rowMarks } from './database.ts';
import type { LedgerRow } from './ledger-records.ts';
import { dayOf } from './usage-slices.ts';

/** Exchanges that asked no upstream and cost nothing, alike in all that is kept of them. */
export interface RefusalCount
  extends Pick<LedgerRow, 'account' | 'key_id' | 'model' | 'status' | 'error_type' | 'end_reason'> {
  /** When the first of them began; all are of that day. */
  readonly started_ms: number;
  readonly requests: number;
}

/** Refusals that are counted together, once however often they are sent. */
export interface RefusalBatch {
  /** Begins with the time, as that of a row. */
  readonly id: string;
  readonly refusals: readonly RefusalCount[];
}

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
const sums_per_statement = 1000;

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
  await addUp(connection, refusals);
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

/** In one order everywhere, so that instances do not wait for each other in a circle. */
async function addUp(connection: Connection, refusals: readonly RefusalCount[]): Promise<void> {
  const sums = new Map<string, { readonly key: readonly (string | number)[]; requests: number }>();
  for (const refusal of refusals) {
    const key = keyOf(refusal);
    const name = key.join('\n');
    const sum = sums.get(name);
    if (sum) sum.requests += refusal.requests;
    else sums.set(name, { key, requests: refusal.requests });
  }
  const ordered = [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
  for (let at = 0; at < ordered.length; at += sums_per_statement) {
    const some = ordered.slice(at, at + sums_per_statement);
    await connection.run(
      `INSERT INTO refusal_sums (${keys.join(', ')}, requests) VALUES ${rowMarks(some.length, keys.length + 1)}
      ON CONFLICT (${keys.join(', ')}) DO UPDATE SET requests = refusal_sums.requests + excluded.requests`,
      some.flatMap(({ key, requests }) => [...key, requests]),
    );
  }
}

function keyOf({ started_ms, account, key_id, model, status, error_type, end_reason }: RefusalCount) {
  return [dayOf(started_ms), account, key_id ?? '', model ?? '', status, error_type ?? '', end_reason];
}
