import {
  attemptColumns,
  type Connection,
  type LedgerRow,
  picoUsd,
  type Row,
  rowSchema,
  type Value,
} from '../../../src/plugin.ts';
import { insertOnce } from './statements.ts';

/** Named as the fields of a row; the cost is stored as an integer. */
export const columns = [
  ...rowSchema.keyof().exclude(['cost_usd', 'attempts_made', 'stages']).options,
  'cost_pico_usd',
] as const;

/** A queue on disk may hold many batches; one statement has at most 32 766 values. */
const samples_per_step = 500;
/** Inserts the rows that are not there yet, with their attempts, and returns these. */
export async function insertNew(connection: Connection, rows: readonly LedgerRow[]): Promise<LedgerRow[]> {
  const written = await insertOnce(connection, 'sluice.ledger', rows, storedRow);
  const attempts = written.flatMap(attemptRows);
  if (attempts.length > 0) await connection.insert('sluice.attempts', attempts);
  return written;
}

/** Rows of refusals, which are in the sums as counts. */
export async function insertSamples(connection: Connection, samples: readonly LedgerRow[]): Promise<void> {
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
export const stageFields = ['stage', 'hook', 'offset_ms', 'own_ms'] as const;

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
