import {
  type AttemptRow,
  attemptColumns,
  type Database,
  isBatch,
  isRow,
  type LedgerPlace,
  type LedgerQuery,
  type LedgerRecords,
  type ListedRow,
  type StageRow,
  usdOf,
} from '../../../src/store-plugin.ts';
import { columns, insertNew, insertSamples } from './insert-ledger-rows.ts';
import { conditionBetween, conditionOf, edgeQuery, failedAt, isFirstFailure } from './ledger-query.ts';
import type { NewestRows } from './newest-rows.ts';
import { countOnce, rollUp } from './roll-up.ts';
import { Condition } from './statements.ts';

type StoredRow = Omit<ListedRow, 'estimated' | 'stream' | 'cost_usd' | 'paid_usd'> & {
  estimated: number;
  stream: number | null;
  cost_pico_usd: number;
  paid_pico_usd: number | null;
};

const max_found = 100;

/**
 * The ledger: every settled exchange of an account that asked an upstream, some of those that were refused before, and what all add up to.
 * Rows go to `newest`, if given, and sums to the database.
 */
export const ledgerRecords = (database: Database, newest?: NewestRows): LedgerRecords => ({
  async insert(entries) {
    if (entries.length === 0) return 0;
    const rows = entries.filter(isRow);
    return database.transaction(async connection => {
      const batches = await countOnce(connection, entries.filter(isBatch));
      // A batch that waited on disk may be of an earlier version.
      const samples = batches.flatMap(({ samples = [] }) => samples);
      const refusals = batches.flatMap(({ refusals }) => refusals);
      const added = newest ? newest.newAmong(rows) : await insertNew(connection, rows);
      if (!newest) await insertSamples(connection, samples);
      await rollUp(connection, added, refusals);
      // At the end: what fails is sent again.
      newest?.add([...samples, ...added]);
      return added.length;
    });
  },

  async list(query) {
    await database.settle?.();
    const { sql, values } = selectOf(query);
    const listed = (await database.run<StoredRow>(sql, values)).map(listedRow);
    return query.before ? listed.reverse() : listed;
  },

  async largest(by, query, among) {
    await database.settle?.();
    const { sql, values } = selectOf({ ...query, limit: among });
    const column = by === 'cost_usd' ? 'cost_pico_usd' : by;
    const rows = await database.run<StoredRow>(
      `SELECT * FROM (${sql}) AS newest ORDER BY ${column} DESC, started_ms DESC, id DESC LIMIT ?`,
      [...values, query.limit],
    );
    return rows.map(listedRow);
  },

  async edgeOf(query, rows) {
    const search = edgeQuery(query);
    if (!search) return undefined;
    await database.settle?.();
    const [edge] = await database.run<LedgerPlace>(`${search.sql} LIMIT 1 OFFSET ?`, [
      ...search.values,
      rows,
    ]);
    return edge;
  },

  async find(request_id, account) {
    await database.settle?.();
    const where = new Condition().and('request_id = ?', request_id).and('account = ?', account);
    const rows = await database.run<StoredRow & { stages: string | null }>(
      `SELECT ${columns.join(', ')}, stages FROM sluice.ledger ${where.sql} ORDER BY started_ms DESC, id DESC LIMIT ?`,
      [...where.values, max_found],
    );
    if (rows.length === 0) return [];
    const attempts = await database.run<AttemptRow & { ledger_id: string }>(
      `SELECT ledger_id, ${attemptColumns.join(', ')} FROM sluice.attempts
      WHERE ledger_id IN (${rows.map(() => '?').join(', ')}) ORDER BY ledger_id, number`,
      rows.map(({ id }) => id),
    );
    const byRow = Map.groupBy(attempts, ({ ledger_id }) => ledger_id);
    const made = (id: string) => (byRow.get(id) ?? []).map(({ ledger_id: _, ...attempt }) => attempt);
    return rows.map(({ stages, ...row }) => ({
      ...listedRow(row),
      attempts_made: made(row.id),
      stages: stagesOf(stages),
    }));
  },
});

/** Selects the rows that are next to the places of a query. */
function selectOf({ after, before, edge, failed_at, limit, ...asked }: LedgerQuery) {
  const places = { after, before, edge };
  const where =
    failed_at === undefined
      ? conditionBetween(places, asked)
      : isFirstFailure(failedAt(conditionOf(asked), failed_at, { ...asked, ...places }), asked);
  const from = failed_at === undefined ? '' : 'JOIN sluice.attempts AS failure ON failure.ledger_id = id';
  const order = failed_at === undefined ? ['started_ms', 'id'] : ['ledger_id'];
  const sql = `SELECT ${columns.map(name => `ledger.${name}`).join(', ')} FROM sluice.ledger ${from} ${where.sql}
    ORDER BY ${order.map(column => `${column} ${before ? 'ASC' : 'DESC'}`).join(', ')} LIMIT ?`;
  return { sql, values: [...where.values, limit] };
}

function stagesOf(stored: string | null): StageRow[] {
  if (stored === null) return [];
  const stages = JSON.parse(stored) as [string, string, number, number][];
  return stages.map(([stage, hook, offset_ms, own_ms]) => ({ stage, hook, offset_ms, own_ms }));
}

const listedRow = ({ estimated, stream, cost_pico_usd, paid_pico_usd, ...row }: StoredRow): ListedRow => ({
  ...row,
  estimated: estimated === 1,
  stream: stream === null ? null : stream === 1,
  cost_usd: usdOf(BigInt(cost_pico_usd)),
  paid_usd: paid_pico_usd === null ? null : usdOf(BigInt(paid_pico_usd)),
});
