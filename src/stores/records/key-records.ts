import { NotThere } from './account-records.ts';
import { type Operator, recordChange } from './audit-log.ts';
import { Condition, type Database, insertRows, rowMarks, searchable } from './database.ts';
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
}

/** What a lookup finds of a key, with its account's row if the store has one. */
export interface FoundKey extends Pick<KeyRecord, 'id' | 'account' | 'expires_ms' | 'revoked_ms'> {
  readonly digest: string;
  readonly stored: { readonly plan: string | null; readonly limits: Record<string, unknown> } | undefined;
}

const columns = 'id, account, name, hint, created_ms, expires_ms, revoked_ms, last_used_ms';

/** The keys of the store; lists begin with the newest. */
export const keyRecords = (database: Database) => ({
  ...pagedRecords<KeyRecord, KeyQuery, KeyRecord>(database, {
    name: 'sluice.api_keys',
    columns,
    order: 'DESC',
    recordOf: row => row,
    conditionOf: ({ id, account, search, usable_at_ms }) =>
      new Condition()
        .and('id = ?', id)
        .and('account = ?', account)
        .containing(search)
        .and('revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > ?)', usable_at_ms),
  }),

  /** Makes a key; `key` is its text, which is not stored. */
  create: (detail: Pick<KeyRecord, 'account' | 'name' | 'expires_ms'>, operator: Operator) =>
    database.transaction(async connection => {
      const { account, name, expires_ms } = detail;
      const { key, digest, hint } = newSecret();
      const created_ms = operator.at_ms;
      const id = keyId(created_ms);
      const change = await recordChange(connection, operator, 'key.create', id, {
        account,
        name,
        expires_ms,
      });
      const search = searchable(id, account, name, hint);
      const stored = { id, account, name, digest, hint, search, created_ms, expires_ms, change };
      const [record] = await insertRows<KeyRecord>(
        connection,
        'sluice.api_keys',
        [stored],
        `RETURNING ${columns}`,
      );
      return { key, record: record! };
    }),

  /** Revokes a key; one that is revoked already stays as it is. Throws NotThere. */
  revoke: (id: string, operator: Operator) =>
    database.transaction(async connection => {
      const [known] = await connection.run<KeyRecord>(`SELECT ${columns} FROM sluice.api_keys WHERE id = ?`, [
        id,
      ]);
      if (!known) throw new NotThere(`there is no key '${id}'`);
      if (known.revoked_ms !== null) return known;
      const { account, name } = known;
      const change = await recordChange(connection, operator, 'key.revoke', id, { account, name });
      const revoked_ms = operator.at_ms;
      const sql = 'UPDATE sluice.api_keys SET revoked_ms = ?, change = ? WHERE id = ?';
      await connection.run(sql, [revoked_ms, change, id]);
      return { ...known, revoked_ms };
    }),

  /** The keys that have these digests, revoked ones included. */
  async lookUp(digests: readonly string[]): Promise<FoundKey[]> {
    const rows = await database.run<
      Omit<FoundKey, 'stored'> & { stored_id: string | null; plan: string | null; limits: string }
    >(
      `SELECT k.id, k.digest, k.account, k.expires_ms, k.revoked_ms, a.id AS stored_id, a.plan, a.limits
      FROM sluice.api_keys k LEFT JOIN sluice.accounts a ON a.id = k.account WHERE k.digest IN ${rowMarks(1, digests.length)}`,
      digests,
    );
    return rows.map(({ stored_id, plan, limits, ...key }) => ({
      ...key,
      stored: stored_id === null ? undefined : { plan, limits: JSON.parse(limits) },
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
