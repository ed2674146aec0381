import type { Connection } from '../../../src/store-plugin.ts';
import { attachmentOf, creationOf, type Month, monthlyTables, monthsFrom } from './months.ts';

const columns = {
  ledger: `
    request_id TEXT NOT NULL,
    account TEXT NOT NULL,
    key_id TEXT,
    model TEXT,
    requested_model TEXT,
    provider TEXT,
    endpoint TEXT NOT NULL,
    stream SMALLINT,
    started_ms BIGINT NOT NULL,
    duration_ms BIGINT NOT NULL,
    first_token_ms BIGINT,
    status SMALLINT NOT NULL,
    error_type TEXT,
    error_message TEXT,
    error_param TEXT,
    code TEXT,
    end_reason TEXT NOT NULL,
    refused_by TEXT,
    attempts SMALLINT NOT NULL,
    prompt_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cache_creation_tokens BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    estimated SMALLINT NOT NULL,
    cost_pico_usd BIGINT NOT NULL,
    paid_pico_usd BIGINT,
    trace_id TEXT,
    stages TEXT`,
  attempts: `
    number SMALLINT NOT NULL,
    provider TEXT,
    model TEXT,
    offset_ms BIGINT NOT NULL,
    wait_ms BIGINT NOT NULL,
    first_token_ms BIGINT,
    duration_ms BIGINT,
    status SMALLINT,
    outcome TEXT,
    kind TEXT,
    error_message TEXT`,
} as const;

const primaryKeys = { ledger: 'id', attempts: 'ledger_id, number' } as const;

/** By what follows the names of their tables. Failures are looked for among all rows: they are few, and so is what their indexes cost. */
const indexes = {
  ledger: {
    by_time: '(started_ms, id)',
    by_account: '(account, started_ms, id)',
    by_request_id: '(request_id)',
    failures: '(started_ms, id) WHERE error_type IS NOT NULL',
    // Of applications' own handlers.
    failures_untyped: '(started_ms, id) WHERE error_type IS NULL AND status >= 400',
  },
  attempts: { failed: "(provider, ledger_id) WHERE outcome = 'failed'" },
} as const;

/** Creates the ledger and its attempts, in Postgres by month. `stages` is JSON: [stage, hook, offset_ms, own_ms] of each hook. */
export async function ledgerTables(
  connection: Connection,
  isPostgres: boolean,
  epoch_ms: number,
): Promise<void> {
  for (const { table, key } of monthlyTables) {
    await connection.run(creationSql(table, key, isPostgres));
    for (const [name, of] of Object.entries(indexes[table]))
      await connection.run(`CREATE INDEX ${table}_${name} ON sluice.${table} ${of}`);
    if (isPostgres) for (const sql of monthsOf(table, epoch_ms)) await connection.run(sql);
  }
}

/** Ids are in the order of their bytes, whatever the language of the database; SQLite has no other order. */
function creationSql(table: keyof typeof columns, key: string, isPostgres: boolean): string {
  const [collation, storage] = isPostgres ? [' COLLATE "C"', ` PARTITION BY RANGE (${key})`] : ['', ''];
  const clustered = !isPostgres && table === 'attempts' ? ' WITHOUT ROWID' : '';
  return `CREATE TABLE sluice.${table} (${key} TEXT${collation} NOT NULL, ${columns[table]},
    PRIMARY KEY (${primaryKeys[table]}))${storage}${clustered}`;
}

/** One table for all time up to the end of this month, those of the next months, and one for what has no month. */
function monthsOf(table: string, epoch_ms: number): string[] {
  const [current, ...next] = monthsFrom(epoch_ms) as [Month, ...Month[]];
  const past = `${table}_to_${current.suffix}`;
  return [
    `CREATE TABLE sluice.${past} PARTITION OF sluice.${table} FOR VALUES FROM (MINVALUE) TO ('${current.end_id}')`,
    ...next.flatMap(month => [creationOf(table, month), attachmentOf(table, month)]),
    `CREATE TABLE sluice.${table}_others PARTITION OF sluice.${table} DEFAULT`,
  ];
}
