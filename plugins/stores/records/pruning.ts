import {
  type Database,
  hourOf,
  monthOf,
  type Pruned,
  type Pruning,
  timeOrderedUuid,
  trafficSteps,
} from '../../../src/store-plugin.ts';
import type { LedgerMonths } from './ledger-months.ts';
import { startedBetween } from './ledger-query.ts';
import { isFirst } from './pruning-lock.ts';
import { Condition } from './statements.ts';
import { attemptKeys, trafficKeys } from './traffic-sums.ts';
import { refusalKeys } from './usage-records.ts';
import { hourlySumKeys, providerSumKeys } from './usage-slices.ts';

const keysOf = {
  ledger: 'id',
  counted_batches: 'id',
  daily_sums: 'model, day, account',
  monthly_sums: 'month, account',
  refusal_sums: refusalKeys,
  key_sums: 'key_id, day',
  provider_sums: providerSumKeys,
  hourly_sums: hourlySumKeys,
  traffic_sums: trafficKeys,
  attempt_sums: attemptKeys,
  stored_responses: 'id',
  idempotent_requests: 'id',
} as const;

/**
 * Deletes old rows, at most `limit` in each transaction, so that nothing waits for it: call each step again until it deletes none. With
 * Postgres, where the ledger has `months`, one instance at a time does so.
 */
export function pruning(database: Database, months?: LedgerMonths): Pruning {
  const prune = (table: keyof typeof keysOf, where: Condition, order: string, limit: number) => {
    const keys = keysOf[table];
    return database.transaction(async (connection): Promise<Pruned> => {
      if (months && !(await isFirst(connection))) return 'taken';
      const oldest = `SELECT ${keys} FROM sluice.${table} ${where.sql} ORDER BY ${order} LIMIT ?`;
      const values = [...where.values, limit];
      if (table === 'ledger')
        await connection.run(`DELETE FROM sluice.attempts WHERE ledger_id IN (${oldest})`, values);
      const deleted = await connection.run(
        `DELETE FROM sluice.${table} WHERE (${keys}) IN (${oldest}) RETURNING 1 AS deleted`,
        values,
      );
      return deleted.length;
    });
  };

  const modelAfter = async (model?: string): Promise<string | null> => {
    const where = new Condition().and('model > ?', model);
    const sql = `SELECT MIN(model) AS model FROM sluice.daily_sums ${where.sql}`;
    const [next] = await database.run<{ model: string | null }>(sql, where.values);
    return next?.model ?? null;
  };

  return {
    async rows(before_ms, limit) {
      await database.settle?.();
      let ofMonth = await months?.deleteOldest(before_ms);
      while (ofMonth === 0) ofMonth = await months?.deleteOldest(before_ms);
      return (
        ofMonth ??
        prune('ledger', startedBetween(new Condition(), undefined, before_ms), 'started_ms, id', limit)
      );
    },

    async sums(before_ms, limit) {
      const month = monthOf(before_ms);
      const ofMonths = new Condition().and('month < ?', month);
      const monthly = await prune('monthly_sums', ofMonths, 'month, account', limit);
      if (monthly !== 0) return monthly;
      const ofDays = () => new Condition().and('day < ?', `${month}-01`);
      for (const table of ['refusal_sums', 'key_sums', 'provider_sums'] as const) {
        const pruned = await prune(table, ofDays(), 'day', limit);
        if (pruned !== 0) return pruned;
      }
      // By models, whose days lie in order.
      for (let model = await modelAfter(); model !== null; model = await modelAfter(model)) {
        const daily = await prune('daily_sums', ofDays().and('model = ?', model), 'day, account', limit);
        if (daily !== 0) return daily;
      }
      return 0;
    },

    hours: (before_ms, limit) =>
      prune('hourly_sums', new Condition().and('hour < ?', hourOf(before_ms)), 'hour', limit),

    async traffic(now_ms, limit) {
      for (const table of ['traffic_sums', 'attempt_sums'] as const)
        for (const { step_ms, kept_ms } of trafficSteps) {
          const old = new Condition().and('step_ms = ?', step_ms).and('at_ms < ?', now_ms - kept_ms);
          const pruned = await prune(table, old, 'at_ms', limit);
          if (pruned !== 0) return pruned;
        }
      return 0;
    },

    batches(before_ms, limit) {
      const first = timeOrderedUuid(before_ms).slice(0, 13);
      return prune('counted_batches', new Condition().and('id < ?', first), 'id', limit);
    },

    responses: (before_ms, limit) =>
      prune('stored_responses', new Condition().and('expires_ms <= ?', before_ms), 'expires_ms', limit),

    requests: (before_ms, limit) =>
      prune('idempotent_requests', new Condition().and('created_ms <= ?', before_ms), 'created_ms', limit),

    ...(months && { prepare: (now_ms: number) => months.prepare(now_ms) }),
  };
}
