import type { Connection } from '../../../src/store-plugin.ts';
import { ledgerTables } from './ledger-tables.ts';
import { attemptKeys, durationColumns, firstTokenColumns, trafficKeys } from './traffic-sums.ts';
import { hourlySumKeys, providerSumKeys, totalSumKeys } from './usage-slices.ts';

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

const counts = (names: readonly string[]): string => names.map(name => `${name} BIGINT NOT NULL`).join(', ');

/** What exchanges add up to. Columns of errors and of what is paid have a default, so that sums without need not name them. */
const defaults = (names: readonly string[]): string =>
  names.map(name => `${name} BIGINT NOT NULL DEFAULT 0`).join(', ');
const classes = defaults(['provider_failed', 'gateway_failed', 'refusal', 'client_error']);
const paid = defaults(['paid_requests', 'paid_pico_usd', 'margin_pico_usd']);
const counters = `${counts([
  'requests',
  'failed_requests',
  'estimated_requests',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'reasoning_tokens',
  'cost_pico_usd',
])}, ${classes}, ${paid}`;

/**
 * The schema. Times are milliseconds since 1970, days are `2026-11-20` in UTC, costs are millionths of a millionth of a US dollar, since
 * integers are added exactly in every database.
 */
export const migrations: readonly Migration[] = [
  {
    // Versions before were never released.
    version: 9,
    name: 'accounts, keys, ledger, sums, sign-ins',
    statements: [
      // `search` is the text that is searched, in lower case by JavaScript; `folded` is the id in lower case.
      `CREATE TABLE sluice.accounts (
        id TEXT PRIMARY KEY,
        plan TEXT,
        limits TEXT NOT NULL,
        search TEXT NOT NULL,
        display_name TEXT NOT NULL,
        contacts TEXT NOT NULL,
        folded TEXT NOT NULL,
        created_ms BIGINT NOT NULL,
        parent TEXT,
        models TEXT,
        disabled_ms BIGINT,
        change BIGINT NOT NULL
      )`,
      'CREATE INDEX accounts_by_change ON sluice.accounts (change)',
      'CREATE INDEX accounts_by_folded ON sluice.accounts (folded)',
      // No reference to accounts: a parent may be one of the configuration.
      'CREATE INDEX accounts_by_parent ON sluice.accounts (parent) WHERE parent IS NOT NULL',
      'CREATE INDEX accounts_disabled ON sluice.accounts (id) WHERE disabled_ms IS NOT NULL',
      // No reference to accounts: an account may be one of the configuration. `nonce` names the form that made the key.
      `CREATE TABLE sluice.api_keys (
        id TEXT PRIMARY KEY,
        account TEXT NOT NULL,
        name TEXT NOT NULL,
        digest TEXT NOT NULL UNIQUE,
        hint TEXT NOT NULL,
        search TEXT NOT NULL,
        limits TEXT NOT NULL,
        models TEXT,
        tags TEXT,
        nonce TEXT,
        created_ms BIGINT NOT NULL,
        expires_ms BIGINT,
        revoked_ms BIGINT,
        last_used_ms BIGINT,
        imported SMALLINT NOT NULL DEFAULT 0,
        change BIGINT NOT NULL
      )`,
      'CREATE INDEX api_keys_imported ON sluice.api_keys (id) WHERE imported = 1',
      'CREATE INDEX api_keys_by_account ON sluice.api_keys (account, id)',
      'CREATE INDEX api_keys_by_change ON sluice.api_keys (change)',
      'CREATE INDEX api_keys_by_use ON sluice.api_keys ((COALESCE(last_used_ms, 0)), id)',
      'CREATE INDEX api_keys_by_name ON sluice.api_keys ((LOWER(name)), id)',
      'CREATE UNIQUE INDEX api_keys_by_nonce ON sluice.api_keys (nonce) WHERE nonce IS NOT NULL',
      // One row; its lock puts all changes in the order in which they become visible.
      'CREATE TABLE sluice.change_counter (id SMALLINT PRIMARY KEY CHECK (id = 1), value BIGINT NOT NULL)',
      'INSERT INTO sluice.change_counter (id, value) VALUES (1, 0)',
      ledgerTables,
      `CREATE TABLE sluice.audit_log (
        id TEXT PRIMARY KEY,
        at_ms BIGINT NOT NULL,
        actor TEXT NOT NULL,
        action TEXT NOT NULL,
        target TEXT NOT NULL,
        detail TEXT NOT NULL,
        address TEXT NOT NULL
      )`,
      'CREATE INDEX audit_log_by_target ON sluice.audit_log (target, id)',
      'CREATE INDEX audit_log_by_actor ON sluice.audit_log (actor, id)',
      'CREATE INDEX audit_log_by_action ON sluice.audit_log (action, id)',
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
      clustered(`CREATE TABLE sluice.key_sums (
        key_id TEXT NOT NULL,
        day TEXT NOT NULL,
        ${counts(['requests', 'failed_requests', 'tokens', 'cost_pico_usd'])},
        ${classes},
        PRIMARY KEY (key_id, day)
      )`),
      'CREATE INDEX key_sums_by_day ON sluice.key_sums (day)',
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
      // What all requests, and all attempts, add up to over time: see traffic-sums.ts. `provider` of requests is that of the last attempt, `model` of attempts the name there.
      clustered(`CREATE TABLE sluice.traffic_sums (
        step_ms BIGINT NOT NULL,
        at_ms BIGINT NOT NULL,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        error_type TEXT NOT NULL,
        end_reason TEXT NOT NULL,
        ${counts(['requests', 'tokens', 'cost_pico_usd', ...firstTokenColumns])},
        PRIMARY KEY (${trafficKeys})
      )`),
      clustered(`CREATE TABLE sluice.attempt_sums (
        step_ms BIGINT NOT NULL,
        at_ms BIGINT NOT NULL,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        outcome TEXT NOT NULL,
        kind TEXT NOT NULL,
        ${counts(['attempts', ...firstTokenColumns, ...durationColumns])},
        PRIMARY KEY (${attemptKeys})
      )`),
      // Ids of the batches in which they came, so that one that is sent twice is counted once; they begin with their time.
      clustered('CREATE TABLE sluice.counted_batches (id TEXT PRIMARY KEY)'),
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
  {
    version: 10,
    name: 'stored responses',
    statements: [
      // `content` is encrypted; the lengths are those of its text.
      `CREATE TABLE sluice.stored_responses (
        id TEXT PRIMARY KEY,
        account TEXT NOT NULL,
        parent TEXT,
        created_ms BIGINT NOT NULL,
        expires_ms BIGINT NOT NULL,
        chain_items BIGINT NOT NULL,
        chain_bytes BIGINT NOT NULL,
        own_bytes BIGINT NOT NULL,
        content TEXT NOT NULL
      )`,
      'CREATE INDEX stored_responses_by_end ON sluice.stored_responses (expires_ms)',
    ],
  },
  {
    version: 11,
    name: 'controls of providers',
    statements: [
      `CREATE TABLE sluice.provider_controls (
        provider TEXT PRIMARY KEY,
        state TEXT NOT NULL,
        weight TEXT,
        until_ms BIGINT,
        reason TEXT NOT NULL,
        actor TEXT NOT NULL,
        at_ms BIGINT NOT NULL
      )`,
    ],
  },
  {
    version: 12,
    name: 'notices',
    statements: [
      // The receivers of a notice are decided once, at `routed_ms`. `data` is JSON.
      `CREATE TABLE sluice.notices (
        id TEXT PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        subject TEXT NOT NULL,
        type TEXT NOT NULL,
        data TEXT NOT NULL,
        created_ms BIGINT NOT NULL,
        routed_ms BIGINT
      )`,
      'CREATE INDEX notices_by_subject ON sluice.notices (subject, id)',
      'CREATE INDEX notices_by_time ON sluice.notices (created_ms)',
      'CREATE INDEX notices_unrouted ON sluice.notices (id) WHERE routed_ms IS NULL',
      // `due_ms` is the time of the next attempt, or of the end of a claim; NULL once it is sent or given up.
      `CREATE TABLE sluice.notice_deliveries (
        notice TEXT NOT NULL,
        target TEXT NOT NULL,
        state TEXT NOT NULL,
        attempts BIGINT NOT NULL,
        due_ms BIGINT,
        ended_ms BIGINT,
        fault TEXT NOT NULL,
        PRIMARY KEY (notice, target)
      )`,
      'CREATE INDEX notice_deliveries_due ON sluice.notice_deliveries (due_ms) WHERE due_ms IS NOT NULL',
    ],
  },
  {
    version: 13,
    name: 'admin keys, idempotent requests',
    statements: [
      // `folded` is the name in lower case.
      `CREATE TABLE sluice.admin_keys (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        folded TEXT NOT NULL,
        role TEXT NOT NULL,
        digest TEXT NOT NULL UNIQUE,
        hint TEXT NOT NULL,
        search TEXT NOT NULL,
        created_ms BIGINT NOT NULL,
        expires_ms BIGINT,
        revoked_ms BIGINT,
        last_used_ms BIGINT
      )`,
      // `answer` is encrypted with the key of who has sent the request.
      `CREATE TABLE sluice.idempotent_requests (
        id TEXT PRIMARY KEY,
        fingerprint TEXT NOT NULL,
        target TEXT NOT NULL,
        answer TEXT,
        created_ms BIGINT NOT NULL
      )`,
      'CREATE INDEX idempotent_requests_by_time ON sluice.idempotent_requests (created_ms)',
    ],
  },
  {
    version: 14,
    name: 'sums that are never deleted, for limits that never reset',
    statements: [
      // Of an account, without `key_id`, by its models and all together; of a key all together.
      clustered(`CREATE TABLE sluice.total_sums (
        account TEXT NOT NULL,
        key_id TEXT NOT NULL,
        model TEXT NOT NULL,
        ${counts(['requests', 'failed_requests', 'tokens', 'cost_pico_usd'])},
        PRIMARY KEY (${totalSumKeys})
      )`),
    ],
  },
];
