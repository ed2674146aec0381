import { type AccountRecord, NotThere } from './account-records.ts';
import { type Operator, recordChange } from './audit-log.ts';
import { Condition, type Connection, type Database, insertRows, rowMarks, searchable } from './database.ts';
import { keyId } from './ids.ts';
import { newSecret } from './key-secret.ts';
import { type PageQuery, pagedRecords } from './paged-records.ts';

/** A key of the store, without its text, of which only the last characters are stored. */
export interface KeyRecord {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly hint: string;
  readonly created_ms: number;
  readonly expires_ms: number | null;
  readonly revoked_ms: number | null;
  /** To within half a minute, since uses are written beside the requests. */
  readonly last_used_ms: number | null;
}

/** `search` is a part of the id, name, account or hint. */
export interface KeyQuery extends PageQuery {
  readonly account?: string | undefined;
  /** Leaves out what is revoked or has expired at this time. */
  readonly usable_at_ms?: number | undefined;
  /** The newest first, or those used last, or by name. */
  readonly sort?: 'newest' | 'used' | 'name' | undefined;
}

/** The orders of lists; those with SQL have an index. */
const orders = {
  newest: { direction: 'DESC' },
  used: { by: 'COALESCE(last_used_ms, 0)', direction: 'DESC' },
  name: { by: 'LOWER(name)', direction: 'ASC' },
} as const;

/** What a lookup finds of a key, with its account's row if the store has one. */
export interface FoundKey extends Pick<KeyRecord, 'id' | 'account' | 'expires_ms' | 'revoked_ms'> {
  readonly digest: string;
  readonly stored: Pick<AccountRecord, 'plan' | 'limits' | 'disabled_ms'> | undefined;
}

/** A key can no longer be used, and so not be changed. */
export class KeyEnded extends Error {
  override readonly name = 'KeyEnded';
}

type KeyDetail = Pick<KeyRecord, 'account' | 'name' | 'expires_ms'>;

/** SQL for a key that can be used; takes the present time. */
const usable = 'revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > ?)';

const columns = 'id, account, name, hint, created_ms, expires_ms, revoked_ms, last_used_ms';

/** End of a key that replaces `old` at this time: it lasts as long as that was to last. */
export const rotatedExpiry = (
  { created_ms, expires_ms }: Pick<KeyRecord, 'created_ms' | 'expires_ms'>,
  at_ms: number,
): number | null => (expires_ms === null ? null : at_ms + expires_ms - created_ms);

/** The keys of the store; lists begin with the newest unless sorted otherwise. */
export const keyRecords = (database: Database) => ({
  ...pagedRecords<KeyRecord, KeyQuery, KeyRecord>(database, {
    name: 'sluice.api_keys',
    columns,
    orderOf: ({ sort = 'newest' }) => orders[sort],
    recordOf: row => row,
    conditionOf: ({ id, account, search, usable_at_ms }) =>
      new Condition()
        .and('id = ?', id)
        .and('account = ?', account)
        .containing(search)
        .and(usable, usable_at_ms),
  }),

  /** Makes a key; `key` is its text, which is not stored. */
  create: (detail: KeyDetail, operator: Operator) =>
    database.transaction(async connection => {
      const { account, name, expires_ms } = detail;
      const made = newKey(operator);
      const set = { account, name, expires_ms };
      const change = await recordChange(connection, operator, 'key.create', made.id, set);
      return insertKey(connection, made, set, change);
    }),

  /**
   * Makes a key in place of a usable one, for its account and by its name. The old one expires after `overlap_ms`, or at its own time if
   * that is earlier. The new one lasts as long as the old one was to last, unless `expires_ms` is given. Throws NotThere and KeyEnded.
   */
  rotate: (id: string, overlap_ms: number, operator: Operator) =>
    database.transaction(async connection => {
      const { at_ms } = operator;
      const old = await keyIn(connection, id);
      const { account, name } = old;
      const set = { account, name, expires_ms: rotatedExpiry(old, at_ms) };
      const made = newKey(operator);
      const end_ms = Math.min(at_ms + overlap_ms, old.expires_ms ?? Number.POSITIVE_INFINITY);
      const detail = { ...set, new_id: made.id, old_expires_ms: end_ms };
      const change = await recordChange(connection, operator, 'key.rotate', id, detail);
      const [ended] = await connection.run<KeyRecord>(
        `UPDATE sluice.api_keys SET expires_ms = CASE WHEN expires_ms < ? THEN expires_ms ELSE ? END, change = ?
        WHERE id = ? AND ${usable} RETURNING ${columns}`,
        [end_ms, end_ms, change, id, at_ms],
      );
      if (!ended) throw new KeyEnded(`the key '${id}' has expired or is revoked`);
      return { ...(await insertKey(connection, made, set, change)), old: ended };
    }),

  /** Revokes a key; one that is revoked already stays as it is. Throws NotThere. */
  revoke: (id: string, operator: Operator) =>
    database.transaction(connection => revokeIn(connection, id, operator)),

  /** The same for several keys, all or none. */
  revokeAll: (ids: readonly string[], operator: Operator) =>
    database.transaction(async connection => {
      const revoked: KeyRecord[] = [];
      for (const id of ids) revoked.push(await revokeIn(connection, id, operator));
      return revoked;
    }),

  /** The keys that have these digests, revoked ones included. */
  async lookUp(digests: readonly string[]): Promise<FoundKey[]> {
    const rows = await database.run<
      Omit<FoundKey, 'stored'> & {
        stored_id: string | null;
        plan: string | null;
        limits: string;
        disabled_ms: number | null;
      }
    >(
      `SELECT k.id, k.digest, k.account, k.expires_ms, k.revoked_ms, a.id AS stored_id, a.plan, a.limits, a.disabled_ms
      FROM sluice.api_keys k LEFT JOIN sluice.accounts a ON a.id = k.account WHERE k.digest IN ${rowMarks(1, digests.length)}`,
      digests,
    );
    return rows.map(({ stored_id, plan, limits, disabled_ms, ...key }) => ({
      ...key,
      stored: stored_id === null ? undefined : { plan, limits: JSON.parse(limits), disabled_ms },
    }));
  },

  /** Records when keys were last used, by id; never sets a time back. */
  async used(times: ReadonlyMap<string, number>): Promise<void> {
    if (times.size === 0) return;
    // Postgres takes the types of the columns from the first row.
    const marks = ['(CAST(? AS TEXT), CAST(? AS BIGINT))', ...Array(times.size - 1).fill('(?, ?)')];
    const sql = `UPDATE sluice.api_keys SET last_used_ms = used.column2 FROM (VALUES ${marks.join(', ')}) AS used
      WHERE api_keys.id = used.column1 AND (last_used_ms IS NULL OR last_used_ms < used.column2)`;
    await database.transaction(connection => connection.run(sql, [...times].flat()));
  },
});

export type KeyRecords = ReturnType<typeof keyRecords>;

async function keyIn(connection: Connection, id: string): Promise<KeyRecord> {
  const sql = `SELECT ${columns} FROM sluice.api_keys WHERE id = ?`;
  const [known] = await connection.run<KeyRecord>(sql, [id]);
  if (!known) throw new NotThere(`there is no key '${id}'`);
  return known;
}

async function revokeIn(connection: Connection, id: string, operator: Operator): Promise<KeyRecord> {
  const known = await keyIn(connection, id);
  if (known.revoked_ms !== null) return known;
  const { account, name } = known;
  const change = await recordChange(connection, operator, 'key.revoke', id, { account, name });
  const revoked_ms = operator.at_ms;
  const sql = 'UPDATE sluice.api_keys SET revoked_ms = ?, change = ? WHERE id = ?';
  await connection.run(sql, [revoked_ms, change, id]);
  return { ...known, revoked_ms };
}

const newKey = ({ at_ms }: Operator) => ({ id: keyId(at_ms), created_ms: at_ms, ...newSecret() });

async function insertKey(
  connection: Connection,
  { key, ...made }: ReturnType<typeof newKey>,
  set: KeyDetail,
  change: number,
): Promise<{ readonly key: string; readonly record: KeyRecord }> {
  const search = searchable(made.id, set.account, set.name, made.hint);
  const stored = { ...made, ...set, search, change };
  const end = `RETURNING ${columns}`;
  const [record] = await insertRows<KeyRecord>(connection, 'sluice.api_keys', [stored], end);
  return { key, record: record! };
}
