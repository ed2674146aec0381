import {
  attemptColumns,
  type Connection,
  type LedgerRow,
  picoUsd,
  type Row,
  rowSchema,
  type StageRow,
  type Value,
} from '../../../src/store-plugin.ts';
import { insertOnce } from './statements.ts';

const fields = rowSchema.keyof().exclude(['cost_usd', 'paid_usd', 'attempts_made', 'stages']).options;

/** Named as the fields of a row; amounts of money are stored as integers. */
export const columns = [...fields, 'cost_pico_usd', 'paid_pico_usd'] as const;

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

/** What waited on disk may be of an earlier version, with fewer columns. */
function storedRow(row: LedgerRow): Row {
  const stored: Record<string, Value> = {};
  for (const name of fields) {
    const value = row[name];
    stored[name] = typeof value === 'boolean' ? Number(value) : (value ?? null);
  }
  stored.cache_creation_tokens ??= 0;
  stored.cost_pico_usd = picoUsd(row.cost_usd);
  stored.paid_pico_usd = row.paid_usd == null ? null : picoUsd(row.paid_usd);
  const { stages = [] } = row;
  stored.stages = stages.length > 0 ? JSON.stringify(stages.map(storedStage)) : null;
  return stored;
}

/** A stage of a row in its column. */
const storedStage = ({ stage, hook, offset_ms, own_ms }: StageRow) => [stage, hook, offset_ms, own_ms];

/** Rows of the table of attempts. */
const attemptRows = ({ id, attempts_made = [] }: LedgerRow): Row[] =>
  attempts_made.map((attempt, at) => {
    const stored: Record<string, Value> = { ledger_id: id, number: at + 1 };
    for (const name of attemptColumns) stored[name] = attempt[name] ?? null;
    return stored;
  });
