import { type Database, rowMarks, searchable, type Value } from '../../src/stores/records/database.ts';
import { keyId, timeOrderedUuid } from '../../src/stores/records/ids.ts';
import { newSecret } from '../../src/stores/records/key-secret.ts';
import type { LedgerRow } from '../../src/stores/records/ledger-entry.ts';
import { ledgerRecords } from '../../src/stores/records/ledger-records.ts';
import type { DashboardOptions } from './dashboard-options.ts';

const day_ms = 86_400_000;
const keys_per_account = 5;
/** What SQLite takes of values in one statement bounds the rows. */
const batch = 1500;

/** Models of the ledger; the catalog of the measured gateway has the same. */
export const modelNames = Array.from({ length: 24 }, (_, at) => `vendor-${at % 5}/model-${at}`);
export const accountName = (at: number): string => `customer-${String(at).padStart(5, '0')}`;

/** The same in every run, from 0 to below 1. */
class Random {
  #seed = 1;

  next(): number {
    this.#seed = (this.#seed * 48_271) % 2_147_483_647;
    return this.#seed / 2_147_483_647;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }
}

/** Fills accounts, keys, the audit log and the ledger, as they would be filled in use: the ledger's sums are kept by what always keeps them. */
export async function fill(
  database: Database,
  options: DashboardOptions,
  now_ms: number,
  say: (words: string) => void,
): Promise<void> {
  const random = new Random();
  await fillAccounts(database, options, now_ms);
  await fillKeys(database, options, now_ms, random);
  say('accounts and keys are there');
  const ledger = ledgerRecords(database);
  const began_ms = performance.now();
  for (let at = 0; at < options.rows; at += batch) {
    const count = Math.min(batch, options.rows - at);
    await ledger.insert(
      Array.from({ length: count }, (_, more) => ledgerRow(at + more, options, now_ms, random)),
    );
  }
  const rows_per_s = options.rows / ((performance.now() - began_ms) / 1000);
  say(`${options.rows} rows are in the ledger, ${rows_per_s.toFixed(0)} in a second`);
}

async function insertAll(
  database: Database,
  into: string,
  count: number,
  rowOf: (at: number) => readonly Value[],
): Promise<void> {
  for (let at = 0; at < count; at += batch) {
    const rows = Array.from({ length: Math.min(batch, count - at) }, (_, more) => rowOf(at + more));
    const sql = `INSERT INTO ${into} VALUES ${rowMarks(rows.length, rows[0]!.length)}`;
    await database.transaction(connection => connection.run(sql, rows.flat()));
  }
}

const timeAt = (at: number, count: number, { days }: DashboardOptions, now_ms: number): number =>
  Math.floor(now_ms - (1 - at / count) * days * day_ms);

async function fillAccounts(database: Database, options: DashboardOptions, now_ms: number): Promise<void> {
  const count = Math.max(options.accounts, Math.ceil(options.keys / keys_per_account));
  const into = 'accounts (id, plan, limits, search, created_ms, change)';
  await insertAll(database, into, count, at => {
    const id = accountName(at);
    return [
      id,
      at % 3 === 0 ? 'standard' : 'free',
      '{}',
      searchable(id),
      timeAt(at, count, options, now_ms),
      0,
    ];
  });
}

async function fillKeys(
  database: Database,
  options: DashboardOptions,
  now_ms: number,
  random: Random,
): Promise<void> {
  const made: { readonly id: string; readonly account: string; readonly at_ms: number }[] = [];
  const into =
    'api_keys (id, account, name, digest, hint, search, created_ms, expires_ms, revoked_ms, change)';
  const accounts = Math.ceil(options.keys / keys_per_account);
  await insertAll(database, into, options.keys, at => {
    const { digest, hint } = newSecret();
    const at_ms = timeAt(at, options.keys, options, now_ms);
    const [id, account, name] = [keyId(at_ms), accountName(random.below(accounts)), `key ${at}`];
    made.push({ id, account, at_ms });
    const expires_ms = at % 4 === 0 ? now_ms + (random.next() - 0.5) * 90 * day_ms : null;
    const revoked_ms = at % 10 === 0 ? now_ms : null;
    const search = searchable(id, account, name, hint);
    return [
      id,
      account,
      name,
      digest,
      hint,
      search,
      at_ms,
      expires_ms && Math.floor(expires_ms),
      revoked_ms,
      0,
    ];
  });
  await insertAll(database, 'audit_log (id, at_ms, actor, action, target, detail)', made.length, at => {
    const { id, account, at_ms } = made[at]!;
    return [
      timeOrderedUuid(at_ms),
      at_ms,
      'olga',
      'key.create',
      id,
      JSON.stringify({ account, name: `key ${at}` }),
    ];
  });
}

/** Few accounts and models have most of the exchanges, and most are of the last months; unless every one is as likely. */
function ledgerRow(at: number, options: DashboardOptions, now_ms: number, random: Random): LedgerRow {
  const share = options.even ? at / options.rows : (at / options.rows) ** 0.6;
  const started_ms = Math.floor(now_ms - (1 - share) * options.days * day_ms);
  const likely = (count: number, power: number) =>
    Math.floor(count * random.next() ** (options.even ? 1 : power));
  const failed = random.below(50) === 0;
  const prompt_tokens = random.below(8000);
  return {
    id: timeOrderedUuid(started_ms),
    request_id: `req_${at}`,
    account: accountName(likely(options.accounts, 3)),
    key_id: null,
    model: modelNames[likely(modelNames.length, 2)]!,
    provider: 'local',
    endpoint: 'chat.completions',
    started_ms,
    duration_ms: random.below(9000),
    first_token_ms: random.below(900),
    status: failed ? 502 : 200,
    error_type: failed ? 'provider_error' : null,
    end_reason: failed ? 'failed' : 'completed',
    attempts: 1,
    prompt_tokens,
    completion_tokens: random.below(2000),
    cached_tokens: random.below(prompt_tokens + 1),
    reasoning_tokens: 0,
    estimated: random.below(100) === 0,
    cost_usd: `0.0${10_000 + random.below(80_000)}`,
  };
}
