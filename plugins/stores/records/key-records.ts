import {
  type CheckOf,
  type Connection,
  type Database,
  type FoundKey,
  KeyEnded,
  type KeyQuery,
  type KeyRecord,
  type KeyRecords,
  type Operator,
  rotatedExpiry,
  rowMarks,
} from '../../../src/store-plugin.ts';
import { storedLimits, storedModels, textOfModels } from './account-records.ts';
import { recordChange } from './audit-log.ts';
import { changedFields, changeOf, changesNothing } from './changed-fields.ts';
import { importKeys } from './imported-keys.ts';
import { keyColumns, keyIn, keyRecordOf, type StoredKey, storedTags, textOfTags } from './key-record.ts';
import { insertKey, newKey, refuseTwice } from './new-key.ts';
import { pagedRecords } from './paged-records.ts';
import { Condition, searchable, usableKey } from './statements.ts';

/** The orders of lists; those with SQL have an index. */
const orders = {
  newest: { direction: 'DESC' },
  used: { by: 'COALESCE(last_used_ms, 0)', direction: 'DESC' },
  name: { by: 'LOWER(name)', direction: 'ASC' },
} as const;

/** The keys of the store; lists begin with the newest unless sorted otherwise. */
export const keyRecords = (database: Database): KeyRecords => ({
  ...pagedRecords<KeyRecord, KeyQuery, StoredKey>(database, {
    name: 'sluice.api_keys',
    columns: keyColumns,
    orderOf: ({ sort = 'newest' }) => orders[sort],
    recordOf: keyRecordOf,
    conditionOf: ({ id, account, search, usable_at_ms }) =>
      new Condition()
        .and('id = ?', id)
        .and('account = ?', account)
        .containing(search)
        .and(usableKey, usable_at_ms),
  }),

  create: ({ nonce, max_usable, limits = {}, models = null, tags = {}, ...named }, operator) =>
    database.transaction(async connection => {
      const made = newKey(operator);
      const detail = {
        ...named,
        ...(Object.keys(limits).length > 0 && { limits }),
        ...(models !== null && { models }),
        ...(Object.keys(tags).length > 0 && { tags }),
      };
      const change = await recordChange(connection, operator, 'key.create', made.id, detail);
      await refuseTwice(connection, nonce);
      return insertKey(connection, made, { ...named, limits, models, tags, nonce, max_usable, change });
    }),

  rotate: (id, overlap_ms, operator, { nonce, max_usable, check } = {}) =>
    database.transaction(async connection => {
      const { at_ms } = operator;
      const old = await keyIn(connection, id);
      check?.(old);
      const { account, name, limits, models, tags } = old;
      const set = { account, name, expires_ms: rotatedExpiry(old, at_ms) };
      const made = newKey(operator);
      const end_ms = Math.min(at_ms + overlap_ms, old.expires_ms ?? Number.POSITIVE_INFINITY);
      const detail = { ...set, new_id: made.id, old_expires_ms: end_ms };
      const change = await recordChange(connection, operator, 'key.rotate', id, detail);
      await refuseTwice(connection, nonce);
      const [ended] = await connection.run<StoredKey>(
        `UPDATE sluice.api_keys SET expires_ms = CASE WHEN expires_ms < ? THEN expires_ms ELSE ? END, change = ?
        WHERE id = ? AND ${usableKey} RETURNING ${keyColumns}`,
        [end_ms, end_ms, change, id, at_ms],
      );
      if (!ended) throw new KeyEnded(id);
      const inserted = await insertKey(connection, made, {
        ...set,
        limits,
        models,
        tags,
        nonce,
        max_usable,
        change,
      });
      return { ...inserted, old: keyRecordOf(ended) };
    }),

  change: (id, change, operator) =>
    database.transaction(async connection => {
      const before = await keyIn(connection, id);
      const { revoked_ms, expires_ms: ended_ms, account, hint } = before;
      if (revoked_ms !== null || (ended_ms !== null && ended_ms <= operator.at_ms)) throw new KeyEnded(id);
      const set = changeOf(change, before);
      if (changesNothing(before, set)) return before;
      const after: KeyRecord = { ...before, ...set };
      const number = await recordChange(connection, operator, 'key.change', id, changedFields(before, set));
      const { name, expires_ms, limits, models, tags } = after;
      await connection.run(
        'UPDATE sluice.api_keys SET name = ?, expires_ms = ?, limits = ?, models = ?, tags = ?, search = ?, change = ? WHERE id = ?',
        [
          name,
          expires_ms,
          JSON.stringify(limits),
          textOfModels(models),
          textOfTags(tags),
          searchable(id, account, name, hint),
          number,
          id,
        ],
      );
      return after;
    }),

  revoke: (id, operator, check) =>
    database.transaction(connection => revokeIn(connection, id, operator, check)),

  revokeAll: (ids, operator) =>
    database.transaction(async connection => {
      const revoked: KeyRecord[] = [];
      for (const id of ids) revoked.push(await revokeIn(connection, id, operator));
      return revoked;
    }),

  import: (keys, operator) => importKeys(database, keys, operator),

  async named(ids) {
    if (ids.length === 0) return [];
    const rows = await database.run<Pick<StoredKey, 'id' | 'account' | 'name' | 'hint' | 'limits' | 'tags'>>(
      `SELECT id, account, name, hint, limits, tags FROM sluice.api_keys WHERE id IN ${rowMarks(1, ids.length)}`,
      ids,
    );
    return rows.map(({ limits, tags, ...row }) => ({
      ...row,
      limits: storedLimits(limits),
      tags: storedTags(tags),
    }));
  },

  async lookUp(digests) {
    const rows = await database.run<
      Omit<FoundKey, 'stored' | 'limits' | 'models'> & {
        key_limits: string;
        key_models: string | null;
        models: string | null;
        stored_id: string | null;
        plan: string | null;
        limits: string;
        parent: string | null;
        disabled_ms: number | null;
      }
    >(
      `SELECT k.id, k.digest, k.account, k.expires_ms, k.revoked_ms, k.limits AS key_limits, k.models AS key_models, a.id AS stored_id, a.plan, a.limits, a.models, a.parent, a.disabled_ms
      FROM sluice.api_keys k LEFT JOIN sluice.accounts a ON a.id = k.account WHERE k.digest IN ${rowMarks(1, digests.length)}`,
      digests,
    );
    return rows.map(
      ({ stored_id, plan, limits, models, key_limits, key_models, parent, disabled_ms, ...key }) => ({
        ...key,
        limits: storedLimits(key_limits),
        models: storedModels(key_models),
        stored:
          stored_id === null
            ? undefined
            : { plan, limits: storedLimits(limits), models: storedModels(models), parent, disabled_ms },
      }),
    );
  },

  async used(times) {
    if (times.size === 0) return;
    // Postgres takes the types of the columns from the first row.
    const marks = ['(CAST(? AS TEXT), CAST(? AS BIGINT))', ...Array(times.size - 1).fill('(?, ?)')];
    const sql = `UPDATE sluice.api_keys SET last_used_ms = used.column2 FROM (VALUES ${marks.join(', ')}) AS used
      WHERE api_keys.id = used.column1 AND (last_used_ms IS NULL OR last_used_ms < used.column2)`;
    await database.transaction(connection => connection.run(sql, [...times].flat()));
  },
});

async function revokeIn(
  connection: Connection,
  id: string,
  operator: Operator,
  check?: CheckOf<KeyRecord>,
): Promise<KeyRecord> {
  const known = await keyIn(connection, id);
  check?.(known);
  if (known.revoked_ms !== null) return known;
  const { account, name } = known;
  const change = await recordChange(connection, operator, 'key.revoke', id, { account, name });
  const revoked_ms = operator.at_ms;
  const sql = 'UPDATE sluice.api_keys SET revoked_ms = ?, change = ? WHERE id = ?';
  await connection.run(sql, [revoked_ms, change, id]);
  return { ...known, revoked_ms };
}
