import { picoUsd, usdOf } from '../../../src/common/money.ts';
import {
  type AttemptRow,
  attemptColumns,
  isBatch,
  isRow,
  type LedgerEntry,
  type LedgerRow,
  rowSchema,
  type StageRow,
} from '../../../src/gateway/settlement/ledger-entry.ts';
import {
  Condition,
  type Connection,
  type Database,
  insertOnce,
  insertRows,
  type Row,
  type Value,
} from './database.ts';
import {
  conditionBetween,
  conditionOf,
  edgeQuery,
  failedAt,
  isFirstFailure,
  type LedgerPlace,
  type LedgerQuery,
} from './ledger-query.ts';
import { countOnce, rollUp } from './roll-up.ts';

/** A row as lists have it. */
export type ListedRow = Omit<LedgerRow, 'attempts_made' | 'stages'>;

type StoredRow = Omit<ListedRow, 'estimated' | 'stream' | 'cost_usd'> & {
  estimated: number;
  stream: number | null;
  cost_pico_usd: number;
};

/** Named as the fields of a row; the cost is stored as an integer. */
const columns = [
  ...rowSchema.keyof().exclude(['cost_usd', 'attempts_made', 'stages']).options,
  'cost_pico_usd',
] as const;

/** A queue on disk may hold many batches; one statement has at most 32 766 values. */
const samples_per_step = 500;
const max_found = 100;

/** Rows that are written when they are asked for. */
export interface UnwrittenRows {
  /** Those of `rows` that have not been added. */
  newAmong(rows: readonly LedgerRow[]): readonly LedgerRow[];
  add(rows: readonly LedgerRow[]): void;
}

/**
 * The ledger: every settled exchange of an account that asked an upstream, some of those that were refused before, and what all add up to.
 * Rows go to `unwritten`, if given, and sums to the database.
 */
export const ledgerRecords = (database: Database, unwritten?: UnwrittenRows) => ({
  /** Writes what is not there yet and adds it to the sums, all or none. Returns how many rows were new. */
  async insert(entries: readonly LedgerEntry[]): Promise<number> {
    if (entries.length === 0) return 0;
    const rows = entries.filter(isRow);
    return database.transaction(async connection => {
      const batches = await countOnce(connection, entries.filter(isBatch));
      // A batch that waited on disk may be of an earlier version.
      const samples = batches.flatMap(({ samples = [] }) => samples);
      const refusals = batches.flatMap(({ refusals }) => refusals);
      const added = unwritten ? unwritten.newAmong(rows) : await insertNew(connection, rows);
      if (!unwritten) await insertSamples(connection, samples);
      await rollUp(connection, added, refusals);
      // At the end: what fails is sent again.
      unwritten?.add([...samples, ...added]);
      return added.length;
    });
  },

  /** A page of rows, newest first. */
  async list({ after, before, edge, failed_at, limit, ...asked }: LedgerQuery): Promise<ListedRow[]> {
    const places = { after, before, edge };
    const where =
      failed_at === undefined
        ? conditionBetween(places, asked)
        : isFirstFailure(failedAt(conditionOf(asked), failed_at, { ...asked, ...places }), asked);
    const from = failed_at === undefined ? '' : 'JOIN sluice.attempts AS failure ON failure.ledger_id = id';
    const order = failed_at === undefined ? ['started_ms', 'id'] : ['ledger_id'];
    const rows = await database.run<StoredRow>(
      `SELECT ${columns.map(name => `ledger.${name}`).join(', ')} FROM sluice.ledger ${from} ${where.sql}
      ORDER BY ${order.map(column => `${column} ${before ? 'ASC' : 'DESC'}`).join(', ')} LIMIT ?`,
      [...where.values, limit],
    );
    const listed = rows.map(listedRow);
    return before ? listed.reverse() : listed;
  },

  /**
   * The row at which a search for this page should end, behind `rows` others, so that what is rare takes no longer to look for than what is
   * frequent. Undefined if there are not so many, or if an index finds what is asked for.
   */
  async edgeOf(query: Omit<LedgerQuery, 'edge' | 'limit'>, rows: number): Promise<LedgerPlace | undefined> {
    const search = edgeQuery(query);
    if (!search) return undefined;
    const [edge] = await database.run<LedgerPlace>(`${search.sql} LIMIT 1 OFFSET ?`, [
      ...search.values,
      rows,
    ]);
    return edge;
  },

  /** The exchanges with this request id, of all accounts or one, newest first, at most `max_found`: clients choose it, and may use one again. */
  async find(request_id: string, account?: string): Promise<LedgerRow[]> {
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

export type LedgerRecords = ReturnType<typeof ledgerRecords>;

/** Inserts the rows that are not there yet, with their attempts, and returns these. */
export async function insertNew(connection: Connection, rows: readonly LedgerRow[]): Promise<LedgerRow[]> {
  const written = await insertOnce(connection, 'sluice.ledger', rows, storedRow);
  const attempts = written.flatMap(attemptRows);
  if (attempts.length > 0) await insertRows(connection, 'sluice.attempts', attempts);
  return written;
}

/** Rows of refusals, which are in the sums as counts. */
async function insertSamples(connection: Connection, samples: readonly LedgerRow[]): Promise<void> {
  for (let at = 0; at < samples.length; at += samples_per_step)
    await insertOnce(connection, 'sluice.ledger', samples.slice(at, at + samples_per_step), storedRow);
}

function storedRow({ estimated, stream, cost_usd, attempts_made: _, stages = [], ...row }: LedgerRow): Row {
  const stored = {
    ...row,
    cache_creation_tokens: row.cache_creation_tokens ?? 0,
    estimated: Number(estimated),
    stream: stream === null || stream === undefined ? null : Number(stream),
    cost_pico_usd: picoUsd(cost_usd),
  };
  return {
    ...valuesOf(columns, stored),
    stages:
      stages.length === 0 ? null : JSON.stringify(stages.map(stage => stageFields.map(of => stage[of]))),
  };
}

/** The stages of a row from the column, where each is a list of the values of these fields. */
const stageFields = ['stage', 'hook', 'offset_ms', 'own_ms'] as const;

function stagesOf(stored: string | null): StageRow[] {
  if (stored === null) return [];
  const stages = JSON.parse(stored) as [string, string, number, number][];
  return stages.map(([stage, hook, offset_ms, own_ms]) => ({ stage, hook, offset_ms, own_ms }));
}

const listedRow = ({ estimated, stream, cost_pico_usd, ...row }: StoredRow): ListedRow => ({
  ...row,
  estimated: estimated === 1,
  stream: stream === null ? null : stream === 1,
  cost_usd: usdOf(BigInt(cost_pico_usd)),
});

/** Rows of the table of attempts; one that waited on disk may be of a version without them, or with other fields. */
const attemptRows = ({ id, attempts_made = [] }: LedgerRow): Row[] =>
  attempts_made.map((attempt, at) => ({
    ledger_id: id,
    number: at + 1,
    ...valuesOf(attemptColumns, attempt),
  }));

/** The values of these columns; what waited on disk may be of an earlier version, with fewer. */
function valuesOf<K extends string>(names: readonly K[], from: Readonly<Record<K, Value>>): Row {
  const row: Record<string, Value> = {};
  for (const name of names) row[name] = from[name] ?? null;
  return row;
}
