import { day_ms } from './calendar-day.ts';
import type { Connection } from './database.ts';
import { hourlySumKeys, providerSumKeys } from './detailed-sums.ts';
import { divideLedger } from './divide-ledger.ts';
import {
  attemptKeys,
  durationColumns,
  first_token_bounds_ms,
  firstTokenColumns,
  trafficKeys,
  trafficSteps,
} from './traffic-sums.ts';

/** One step of the schema, in the SQL that SQLite and Postgres have in common. Never changed once released; a change is a further step. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** SQL, or several statements. None may take longer than a server may be kept waiting at its shutdown: minutes. */
  readonly statements: readonly (string | MigrationWork)[];
}

export type MigrationWork = (
  connection: Connection,
  isPostgres: boolean,
  epoch_ms: number,
) => Promise<unknown>;

/** A table whose rows SQLite stores in the order of their key, so that rows that are read together lie together. */
const clustered =
  (sql: string): MigrationWork =>
  (connection, isPostgres) =>
    connection.run(isPostgres ? sql : `${sql} WITHOUT ROWID`);

/** Sums of the newest 31 days, which are all that is shown: of a large ledger more would take too long. */
const sumPastUseOfKeys: MigrationWork = (connection, isPostgres) => {
  const day = isPostgres
    ? "to_char(to_timestamp(started_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
    : "strftime('%Y-%m-%d', started_ms / 1000, 'unixepoch')";
  return connection.run(`INSERT INTO sluice.key_sums (key_id, day, requests, failed_requests, tokens, cost_pico_usd)
    SELECT key_id, day, SUM(requests), SUM(failed), SUM(tokens), SUM(cost_pico_usd) FROM (
      SELECT key_id, ${day} AS day, 1 AS requests, CASE WHEN error_type IS NULL AND status < 400 THEN 0 ELSE 1 END AS failed,
        prompt_tokens + completion_tokens AS tokens, cost_pico_usd FROM sluice.ledger
      WHERE key_id IS NOT NULL AND started_ms >= (SELECT MAX(started_ms) FROM sluice.ledger) - ${31 * day_ms}
      UNION ALL SELECT key_id, day, requests, CASE WHEN error_type = '' AND status < 400 THEN 0 ELSE requests END, 0, 0 FROM sluice.refusal_sums WHERE key_id <> ''
    ) AS past GROUP BY key_id, day`);
};

/** Sums over time of the requests that upstreams were asked for, as far back as they are kept. */
const sumPastTraffic: MigrationWork = async connection => {
  const bounds = [0, ...first_token_bounds_ms].map((from_ms, at) => [from_ms, first_token_bounds_ms[at]]);
  const counts = bounds.map(([from_ms, to_ms], at) => {
    const within = [at > 0 && `first_token_ms > ${from_ms}`, to_ms && `first_token_ms <= ${to_ms}`];
    return `SUM(CASE WHEN ${within.filter(Boolean).join(' AND ')} THEN 1 ELSE 0 END)`;
  });
  for (const { step_ms, kept_ms } of trafficSteps)
    await connection.run(`INSERT INTO sluice.traffic_sums (${trafficKeys}, requests, ${firstTokenColumns.join(', ')})
      SELECT ${step_ms}, started_ms - started_ms % ${step_ms}, COALESCE(provider, ''), COALESCE(model, ''),
      COALESCE(error_type, CASE WHEN status >= 400 THEN CAST(status AS TEXT) ELSE '' END), end_reason, COUNT(*), ${counts.join(', ')}
      FROM sluice.ledger WHERE started_ms >= (SELECT MAX(started_ms) FROM sluice.ledger) - ${kept_ms} GROUP BY 1, 2, 3, 4, 5, 6`);
};

/** Sums by provider of the newest 31 days. Those by the hour begin with the upgrade: past refusals have no hour. */
const sumPastProviders: MigrationWork = (connection, isPostgres) => {
  const day = isPostgres
    ? "to_char(to_timestamp(started_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
    : "strftime('%Y-%m-%d', started_ms / 1000, 'unixepoch')";
  const from_ms = `(SELECT MAX(started_ms) - MAX(started_ms) % ${day_ms} - ${30 * day_ms} FROM sluice.ledger)`;
  return connection.run(`INSERT INTO sluice.provider_sums (${providerSumKeys}, ${counterNames.join(', ')})
    SELECT ${providerSumKeys}, ${counterNames.map(name => `SUM(${name})`).join(', ')} FROM (
      SELECT ${day} AS day, COALESCE(model, '') AS model, COALESCE(provider, '') AS provider, 1 AS requests,
      CASE WHEN error_type IS NOT NULL OR status >= 400 THEN 1 ELSE 0 END AS failed_requests, estimated AS estimated_requests,
      prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cost_pico_usd FROM sluice.ledger WHERE started_ms >= ${from_ms}
      UNION ALL SELECT day, model, '', requests, CASE WHEN error_type <> '' OR status >= 400 THEN requests ELSE 0 END, 0, 0, 0, 0, 0, 0
      FROM sluice.refusal_sums WHERE day >= (SELECT MIN(${day}) FROM sluice.ledger WHERE started_ms >= ${from_ms})
    ) AS past GROUP BY ${providerSumKeys}`);
};

const counterNames = [
  'requests',
  'failed_requests',
  'estimated_requests',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'reasoning_tokens',
  'cost_pico_usd',
];
const counters = counterNames.map(name => `${name} BIGINT NOT NULL`).join(', ');

const addCounts = (table: string, names: readonly string[]): string[] =>
  names.map(name => `ALTER TABLE sluice.${table} ADD COLUMN ${name} BIGINT NOT NULL DEFAULT 0`);

/**
 * The schema. Times are milliseconds since 1970, days are `2026-11-20` in UTC, costs are millionths of a millionth of a US dollar, since
 * integers are added exactly in every database.
 */
export const migrations: readonly Migration[] = [
  {
    // Versions 1 and 2 were never released.
    version: 3,
    name: 'accounts, keys, ledger, sums',
    statements: [
      `CREATE TABLE sluice.accounts (
        id TEXT PRIMARY KEY,
        plan TEXT,
        limits TEXT NOT NULL,
        search TEXT NOT NULL,
        created_ms BIGINT NOT NULL,
        change BIGINT NOT NULL
      )`,
      'CREATE INDEX accounts_by_change ON sluice.accounts (change)',
      // `search` is the text that is searched, in lower case by JavaScript. No reference to accounts: an account may be one of the configuration.
      `CREATE TABLE sluice.api_keys (
        id TEXT PRIMARY KEY,
        account TEXT NOT NULL,
        name TEXT NOT NULL,
        digest TEXT NOT NULL UNIQUE,
        hint TEXT NOT NULL,
        search TEXT NOT NULL,
        created_ms BIGINT NOT NULL,
        expires_ms BIGINT,
        revoked_ms BIGINT,
        last_used_ms BIGINT,
        change BIGINT NOT NULL
      )`,
      'CREATE INDEX api_keys_by_account ON sluice.api_keys (account, id)',
      'CREATE INDEX api_keys_by_change ON sluice.api_keys (change)',
      // One row; its lock puts all changes in the order in which they become visible.
      'CREATE TABLE sluice.change_counter (id SMALLINT PRIMARY KEY CHECK (id = 1), value BIGINT NOT NULL)',
      'INSERT INTO sluice.change_counter (id, value) VALUES (1, 0)',
      `CREATE TABLE sluice.ledger (
        id TEXT PRIMARY KEY,
        request_id TEXT NOT NULL,
        account TEXT NOT NULL,
        key_id TEXT,
        model TEXT,
        provider TEXT,
        endpoint TEXT NOT NULL,
        started_ms BIGINT NOT NULL,
        duration_ms BIGINT NOT NULL,
        first_token_ms BIGINT,
        status SMALLINT NOT NULL,
        error_type TEXT,
        end_reason TEXT NOT NULL,
        attempts SMALLINT NOT NULL,
        prompt_tokens BIGINT NOT NULL,
        completion_tokens BIGINT NOT NULL,
        cached_tokens BIGINT NOT NULL,
        reasoning_tokens BIGINT NOT NULL,
        estimated SMALLINT NOT NULL,
        cost_pico_usd BIGINT NOT NULL
      )`,
      'CREATE INDEX ledger_by_time ON sluice.ledger (started_ms, id)',
      'CREATE INDEX ledger_by_account ON sluice.ledger (account, started_ms, id)',
      `CREATE TABLE sluice.audit_log (
        id TEXT PRIMARY KEY,
        at_ms BIGINT NOT NULL,
        actor TEXT NOT NULL,
        action TEXT NOT NULL,
        target TEXT NOT NULL,
        detail TEXT NOT NULL
      )`,
      // What the ledger's rows add up to, kept in the transactions that insert them: see usage-slices.ts.
      clustered(`CREATE TABLE sluice.daily_sums (
        model TEXT NOT NULL,
        day TEXT NOT NULL,
        account TEXT NOT NULL,
        ${counters},
        PRIMARY KEY (model, day, account)
      )`),
      'CREATE INDEX daily_sums_by_account ON sluice.daily_sums (account, day, model)',
      clustered(`CREATE TABLE sluice.monthly_sums (
        month TEXT NOT NULL,
        account TEXT NOT NULL,
        ${counters},
        PRIMARY KEY (month, account)
      )`),
      // How many exchanges were refused before an upstream was asked; `key_id`, `model` and `error_type` are empty where there is none.
      clustered(`CREATE TABLE sluice.refusal_sums (
        day TEXT NOT NULL,
        account TEXT NOT NULL,
        key_id TEXT NOT NULL,
        model TEXT NOT NULL,
        status SMALLINT NOT NULL,
        error_type TEXT NOT NULL,
        end_reason TEXT NOT NULL,
        requests BIGINT NOT NULL,
        PRIMARY KEY (day, account, key_id, model, status, error_type, end_reason)
      )`),
      // Ids of the batches in which they came, so that one that is sent twice is counted once; they begin with their time.
      clustered('CREATE TABLE sluice.counted_batches (id TEXT PRIMARY KEY)'),
    ],
  },
  {
    version: 4,
    name: 'tokens written to the cache',
    statements: ['ALTER TABLE sluice.ledger ADD COLUMN cache_creation_tokens BIGINT NOT NULL DEFAULT 0'],
  },
  {
    version: 5,
    name: 'attempts, request ids',
    statements: [
      'ALTER TABLE sluice.ledger ADD COLUMN stream SMALLINT',
      'ALTER TABLE sluice.ledger ADD COLUMN code TEXT',
      'ALTER TABLE sluice.ledger ADD COLUMN trace_id TEXT',
      'CREATE INDEX ledger_by_request_id ON sluice.ledger (request_id)',
      // Failures are looked for among all: they are few, and so is what this index costs.
      'CREATE INDEX ledger_failures ON sluice.ledger (started_ms, id) WHERE error_type IS NOT NULL',
      clustered(`CREATE TABLE sluice.attempts (
        ledger_id TEXT NOT NULL,
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
        PRIMARY KEY (ledger_id, number)
      )`),
    ],
  },
  {
    version: 6,
    name: 'accounts and keys at work',
    statements: [
      'ALTER TABLE sluice.ledger ADD COLUMN refused_by TEXT',
      // JSON: own time of the stages' hooks, as [stage, hook, offset_ms, own_ms].
      'ALTER TABLE sluice.ledger ADD COLUMN stages TEXT',
      // What the requests of each stored key add up to, kept as the other sums.
      clustered(`CREATE TABLE sluice.key_sums (
        key_id TEXT NOT NULL,
        day TEXT NOT NULL,
        requests BIGINT NOT NULL,
        failed_requests BIGINT NOT NULL,
        tokens BIGINT NOT NULL,
        cost_pico_usd BIGINT NOT NULL,
        PRIMARY KEY (key_id, day)
      )`),
      'CREATE INDEX api_keys_by_use ON sluice.api_keys ((COALESCE(last_used_ms, 0)), id)',
      'CREATE INDEX api_keys_by_name ON sluice.api_keys ((LOWER(name)), id)',
      'CREATE INDEX key_sums_by_day ON sluice.key_sums (day)',
      sumPastUseOfKeys,
      // What requests add up to by the hour, and by provider: see detailed-sums.ts.
      clustered(`CREATE TABLE sluice.hourly_sums (
        hour TEXT NOT NULL,
        account TEXT NOT NULL,
        model TEXT NOT NULL,
        provider TEXT NOT NULL,
        key_id TEXT NOT NULL,
        ${counters},
        PRIMARY KEY (${hourlySumKeys})
      )`),
      clustered(`CREATE TABLE sluice.provider_sums (
        day TEXT NOT NULL,
        model TEXT NOT NULL,
        provider TEXT NOT NULL,
        ${counters},
        PRIMARY KEY (${providerSumKeys})
      )`),
      sumPastProviders,
      // What all requests, and all attempts, add up to over time: see traffic-sums.ts. `provider` is that of the last attempt.
      clustered(`CREATE TABLE sluice.traffic_sums (
        step_ms BIGINT NOT NULL,
        at_ms BIGINT NOT NULL,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        error_type TEXT NOT NULL,
        end_reason TEXT NOT NULL,
        requests BIGINT NOT NULL,
        ${firstTokenColumns.map(name => `${name} BIGINT NOT NULL`).join(', ')},
        PRIMARY KEY (${trafficKeys})
      )`),
      clustered(`CREATE TABLE sluice.attempt_sums (
        step_ms BIGINT NOT NULL,
        at_ms BIGINT NOT NULL,
        provider TEXT NOT NULL,
        outcome TEXT NOT NULL,
        kind TEXT NOT NULL,
        attempts BIGINT NOT NULL,
        PRIMARY KEY (${attemptKeys})
      )`),
      sumPastTraffic,
      // Errors without a type are of applications' own handlers.
      'CREATE INDEX ledger_failures_untyped ON sluice.ledger (started_ms, id) WHERE error_type IS NULL AND status >= 400',
      "CREATE INDEX attempts_failed ON sluice.attempts (provider, ledger_id) WHERE outcome = 'failed'",
      "ALTER TABLE sluice.accounts ADD COLUMN display_name TEXT NOT NULL DEFAULT ''",
      'ALTER TABLE sluice.accounts ADD COLUMN disabled_ms BIGINT',
      'CREATE INDEX accounts_disabled ON sluice.accounts (id) WHERE disabled_ms IS NOT NULL',
      // The id in lower case, which is what was searched so far. Not unique: earlier accounts may differ in case only.
      'ALTER TABLE sluice.accounts ADD COLUMN folded TEXT',
      'UPDATE sluice.accounts SET folded = search',
      'CREATE INDEX accounts_by_folded ON sluice.accounts (folded)',
      // JSON, as the limits of accounts; `nonce` names the form that made the key.
      "ALTER TABLE sluice.api_keys ADD COLUMN limits TEXT NOT NULL DEFAULT '{}'",
      'ALTER TABLE sluice.api_keys ADD COLUMN nonce TEXT',
      'CREATE UNIQUE INDEX api_keys_by_nonce ON sluice.api_keys (nonce) WHERE nonce IS NOT NULL',
      'CREATE INDEX audit_log_by_target ON sluice.audit_log (target, id)',
      "ALTER TABLE sluice.audit_log ADD COLUMN address TEXT NOT NULL DEFAULT ''",
      'CREATE INDEX audit_log_by_actor ON sluice.audit_log (actor, id)',
      'CREATE INDEX audit_log_by_action ON sluice.audit_log (action, id)',
      // At the dashboard and the portal. The digest is that of the token that the browser has.
      `CREATE TABLE sluice.sessions (
        digest TEXT PRIMARY KEY,
        actor TEXT NOT NULL,
        role TEXT NOT NULL,
        account TEXT NOT NULL,
        proof TEXT NOT NULL,
        started_ms BIGINT NOT NULL,
        seen_ms BIGINT NOT NULL
      )`,
      'CREATE INDEX sessions_by_actor ON sluice.sessions (actor, role)',
      'CREATE INDEX sessions_by_account ON sluice.sessions (account)',
      'CREATE INDEX sessions_by_start ON sluice.sessions (started_ms)',
      'CREATE INDEX sessions_by_use ON sluice.sessions (seen_ms)',
      // Sign-ins at the portal; `invitation` is the digest of the token that the customer has, until it is accepted.
      `CREATE TABLE sluice.customers (
        folded TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        account TEXT NOT NULL,
        password_hash TEXT,
        created_ms BIGINT NOT NULL,
        invitation TEXT UNIQUE,
        invited_until_ms BIGINT
      )`,
      'CREATE INDEX customers_by_account ON sluice.customers (account, folded)',
    ],
  },
  { version: 7, name: 'ledger by month', statements: [divideLedger] },
  {
    version: 8,
    name: 'reasons of errors',
    statements: [
      ...['requested_model', 'error_message', 'error_param'].map(
        name => `ALTER TABLE sluice.ledger ADD COLUMN ${name} TEXT`,
      ),
      'ALTER TABLE sluice.attempts ADD COLUMN error_message TEXT',
      // What was counted before is not told apart: the rows of the ledger may be gone.
      ...['daily_sums', 'monthly_sums', 'hourly_sums', 'provider_sums', 'key_sums'].flatMap(table =>
        addCounts(table, ['provider_failed', 'gateway_failed', 'refusal', 'client_error']),
      ),
      ...addCounts('attempt_sums', [...firstTokenColumns, ...durationColumns]),
    ],
  },
];
