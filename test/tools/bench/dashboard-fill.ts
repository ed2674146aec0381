import { ledgerRecords } from '../../../plugins/stores/records/ledger-records.ts';
import { searchable } from '../../../plugins/stores/records/statements.ts';
import { keyId, timeOrderedUuid } from '../../../src/common/ids.ts';
import { type Database, rowMarks, type Value } from '../../../src/records/database.ts';
import { newSecret } from '../../../src/records/key-secret.ts';
import { Dice } from '../../../src/simulator/seed.ts';
import { madeUpRow } from '../../support/dashboard-traffic.ts';

const day_ms = 86_400_000;
const keys_per_account = 5;
/** What SQLite takes of values in one statement bounds the rows. */
const batch = 1500;

/** Models of the ledger; the catalog of the measured gateway has the same. */
export const modelNames = Array.from({ length: 24 }, (_, at) => `vendor-${at % 5}/model-${at}`);
const providerNames = ['local', 'cloud', 'backup'];
export const accountName = (at: number): string => `customer-${String(at).padStart(5, '0')}`;

/** How much is filled in. */
export type FillOptions = Readonly<Record<'rows' | 'keys' | 'accounts' | 'days', number>>;

/** Fills accounts, keys, the audit log and the ledger, the same in every run; the ledger through the code that keeps its sums. */
export async function fill(database: Database, options: FillOptions, now_ms: number): Promise<void> {
  const { rows, keys, accounts, days } = options;
  const dice = new Dice(1);
  /** When the row of that number was made, if `share` of the days had passed. */
  const timeAt = (share: number) => Math.floor(now_ms - (1 - share) * days * day_ms);
  const owners = Math.ceil(keys / keys_per_account);
  await insertAll(
    database,
    'accounts (id, plan, limits, search, created_ms, change)',
    Math.max(accounts, owners),
    (at, count) => {
      const id = accountName(at);
      return [id, at % 3 === 0 ? 'standard' : 'free', '{}', searchable(id), timeAt(at / count), 0];
    },
  );
  const audit: Value[][] = [];
  const columns = 'id, account, name, digest, hint, search, created_ms, expires_ms, revoked_ms, change';
  await insertAll(database, `api_keys (${columns})`, keys, at => {
    const { digest, hint } = newSecret();
    const at_ms = timeAt(at / keys);
    const [id, account, name] = [keyId(at_ms), accountName(dice.integer(0, owners - 1)), `key ${at}`];
    const detail = JSON.stringify({ account, name });
    audit.push([timeOrderedUuid(at_ms), at_ms, 'olga', 'key.create', id, detail]);
    const expires_ms = at % 4 === 0 ? now_ms + Math.floor((dice.roll() - 0.5) * 90 * day_ms) : null;
    const search = searchable(id, account, name, hint);
    return [id, account, name, digest, hint, search, at_ms, expires_ms, at % 10 === 0 ? now_ms : null, 0];
  });
  await insertAll(database, 'audit_log (id, at_ms, actor, action, target, detail)', keys, at => audit[at]!);
  // Few accounts and models have most of the exchanges, and most are of the last months.
  const likely = (count: number, power: number) => Math.floor(count * dice.roll() ** power);
  const ledger = ledgerRecords(database);
  await inBatches(rows, numbers =>
    ledger.insert(
      numbers.map(at => {
        const started_ms = timeAt((at / rows) ** 0.6);
        const model = modelNames[likely(modelNames.length, 2)]!;
        const account = accountName(likely(accounts, 3));
        const row = madeUpRow(account, model, 1, started_ms, () => dice.roll());
        // As many keys as most accounts have, which need not be in the store.
        const key_id = `key_${account}_${dice.integer(1, keys_per_account)}`;
        return { ...row, key_id, provider: dice.pick(providerNames) };
      }),
    ),
  );
}

/** Inserts `count` rows into a table. */
const insertAll = (
  database: Database,
  into: string,
  count: number,
  rowOf: (at: number, count: number) => readonly Value[],
): Promise<void> =>
  inBatches(count, async numbers => {
    const rows = numbers.map(at => rowOf(at, count));
    const sql = `INSERT INTO ${into} VALUES ${rowMarks(rows.length, rows[0]!.length)}`;
    await database.transaction(connection => connection.run(sql, rows.flat()));
  });

async function inBatches(count: number, insert: (numbers: number[]) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += batch)
    await insert(Array.from({ length: Math.min(batch, count - from) }, (_, more) => from + more));
}
