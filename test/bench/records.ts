import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AccountRecords } from '../../src/stores/records/account-records.ts';
import { type Database, rowMarks, searchable } from '../../src/stores/records/database.ts';
import { keyId, timeOrderedUuid } from '../../src/stores/records/ids.ts';
import { KeyRecords } from '../../src/stores/records/key-records.ts';
import { newSecret } from '../../src/stores/records/key-secret.ts';
import { LedgerRecords, type LedgerRow } from '../../src/stores/records/ledger-records.ts';
import { migrate } from '../../src/stores/records/migrate.ts';
import { PostgresDatabase } from '../../src/stores/records/postgres.ts';
import { SqliteDatabase } from '../../src/stores/records/sqlite.ts';
import { UsageRecords } from '../../src/stores/records/usage-records.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { markdownTable } from './table.ts';

/**
 * `npm run bench:records`: how long operators wait for lists, searches and sums with a hundred thousand keys and a million rows in the
 * ledger, and how fast the ledger is written.
 */
const accounts = 10_000;
const keys = 100_000;
const ledger_rows = 1_000_000;
const days = 30;
const models = ['v/one', 'v/two', 'v/three', 'v/four', 'v/five', 'v/six'];
const day_ms = 86_400_000;
const first_ms = Date.parse('2026-11-01T00:00:00Z');
const batch = 500;
const repeats = 7;

/** The same rows in every run. */
let seed = 1;
const random = (below: number): number => {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed % below;
};
const accountOf = (at: number): string => `account-${at}`;

async function fillKeys(database: Database): Promise<string> {
  let last = '';
  await database.transaction(async connection => {
    for (let at = 0; at < accounts; at += batch) {
      const values = Array.from({ length: batch }, (_, more) => [
        accountOf(at + more),
        'free',
        '{}',
        accountOf(at + more),
        first_ms,
        0,
      ]);
      await connection.run(
        `INSERT INTO accounts (id, plan, limits, search, created_ms, change) VALUES ${rowMarks(batch, 6)}`,
        values.flat(),
      );
    }
  });
  for (let at = 0; at < keys; at += batch) {
    const values = Array.from({ length: batch }, (_, more) => {
      const { digest, hint } = newSecret();
      last = digest;
      const created_ms = first_ms + at + more;
      const [id, account, name] = [keyId(created_ms), accountOf(random(accounts)), `key ${at + more}`];
      return [id, account, name, digest, hint, searchable(id, account, name, hint), created_ms, 0];
    });
    await database.transaction(connection =>
      connection.run(
        `INSERT INTO api_keys (id, account, name, digest, hint, search, created_ms, change)
        VALUES ${rowMarks(batch, 8)}`,
        values.flat(),
      ),
    );
  }
  return last;
}

function ledgerRow(at: number): LedgerRow {
  const started_ms = first_ms + Math.floor((at / ledger_rows) * days * day_ms);
  return {
    id: timeOrderedUuid(started_ms),
    request_id: `req_${at}`,
    account: accountOf(random(accounts)),
    key_id: null,
    model: models[random(models.length)]!,
    provider: 'local',
    endpoint: 'chat.completions',
    started_ms,
    duration_ms: random(5000),
    first_token_ms: random(500),
    status: 200,
    error_type: null,
    end_reason: 'completed',
    attempts: 1,
    prompt_tokens: random(4000),
    completion_tokens: random(1000),
    cached_tokens: 0,
    reasoning_tokens: 0,
    estimated: false,
    cost_usd: `0.00${1 + random(9999)}`,
  };
}

async function fillLedger(records: LedgerRecords): Promise<number> {
  const started_ms = performance.now();
  for (let at = 0; at < ledger_rows; at += batch) {
    await records.insert(Array.from({ length: batch }, (_, more) => ledgerRow(at + more)));
  }
  return ledger_rows / ((performance.now() - started_ms) / 1000);
}

type Question = readonly [what: string, ask: () => Promise<unknown>];

function questions(database: Database, digest: string): Question[] {
  const ofAccounts = new AccountRecords(database);
  const ofKeys = new KeyRecords(database);
  const ofLedger = new LedgerRecords(database);
  const usage = new UsageRecords(database);
  const month = { from_day: '2026-11-01', to_day: '2026-11-30' };
  const account = accountOf(77);
  const usable_at_ms = first_ms;
  return [
    ['a key by its digest', () => ofKeys.lookUp([digest])],
    ['first page of keys', () => ofKeys.list({ usable_at_ms, limit: 50 })],
    [
      'a page in the middle',
      () => ofKeys.list({ usable_at_ms, after: keyId(first_ms + keys / 2), limit: 50 }),
    ],
    ['keys of an account', () => ofKeys.list({ account, limit: 50 })],
    ['search that finds one key', () => ofKeys.list({ search: 'KEY 4711', limit: 50 })],
    ['search that finds no key', () => ofKeys.list({ search: 'nothing of this name', limit: 50 })],
    ['count of usable keys', () => ofKeys.count({ usable_at_ms })],
    ['search for accounts', () => ofAccounts.list({ search: '9999', limit: 50 })],
    ['newest exchanges', () => ofLedger.list({ limit: 50 })],
    ['exchanges of an account', () => ofLedger.list({ account, limit: 50 })],
    ['usage of an account by day and model', () => usage.sum({ ...month, account, by: ['day', 'model'] })],
    ['usage of all by model', () => usage.sum({ ...month, by: ['model'] })],
    ['usage of all by day', () => usage.sum({ ...month, by: ['day'] })],
    [
      'the ten most expensive accounts',
      () => usage.sum({ ...month, by: ['account'], order: 'cost', limit: 10 }),
    ],
    [
      'usage of one day by model',
      () => usage.sum({ from_day: '2026-11-15', to_day: '2026-11-15', by: ['model'] }),
    ],
  ];
}

/** The slowest of several askings, in milliseconds. */
async function slowest_ms(ask: () => Promise<unknown>): Promise<number> {
  let slowest = 0;
  for (let at = 0; at < repeats; at++) {
    const started_ms = performance.now();
    await ask();
    slowest = Math.max(slowest, performance.now() - started_ms);
  }
  return slowest;
}

async function measured(database: Database, isPostgres: boolean): Promise<Map<string, string>> {
  await migrate(database, isPostgres, first_ms);
  const digest = await fillKeys(database);
  const rows_per_s = await fillLedger(new LedgerRecords(database));
  const results = new Map([['ledger rows written per second', rows_per_s.toFixed(0)]]);
  for (const [what, ask] of questions(database, digest))
    results.set(what, `${(await slowest_ms(ask)).toFixed(1)} ms`);
  await database.close();
  return results;
}

const directory = await mkdtemp(join(tmpdir(), 'sluice-bench-records-'));
const server = await startPostgres();
try {
  const sqlite = await measured(await SqliteDatabase.open(join(directory, 'bench.db')), false);
  const postgres = await measured(await PostgresDatabase.open(server.url, () => {}), true);
  const rows = [...sqlite].map(([what, result]) => [what, result, postgres.get(what)!]);
  process.stdout.write(`${markdownTable(['slowest of 7', 'SQLite', 'Postgres'], rows)}\n`);
} finally {
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}
