import {
  type Connection,
  KeyExists,
  type KeyRecord,
  keyId,
  type NewKey,
  newSecret,
  type Operator,
  TooManyKeys,
} from '../../../src/store-plugin.ts';
import { textOfModels } from './account-records.ts';
import { keyColumns, keyRecordOf, type StoredKey, textOfTags } from './key-record.ts';
import { searchable, usableKey } from './statements.ts';

/** Id, secret and time of a key to be made. */
export const newKey = ({ at_ms }: Operator) => ({ id: keyId(at_ms), created_ms: at_ms, ...newSecret() });

/** Throws KeyExists for a nonce that was used. The number of a change is given to one transaction at a time, so that no other adds the nonce meanwhile. */
export async function refuseTwice(connection: Connection, nonce: string | undefined): Promise<void> {
  if (nonce === undefined) return;
  const sql = 'SELECT id FROM sluice.api_keys WHERE nonce = ?';
  const [known] = await connection.run<{ id: string }>(sql, [nonce]);
  if (known) throw new KeyExists(known.id);
}

/** Inserts a key; `key` is its text, which is not stored. Throws TooManyKeys; as changes are made one after the other, no other adds one meanwhile. */
export async function insertKey(
  connection: Connection,
  { key, ...made }: ReturnType<typeof newKey>,
  { limits = {}, models = null, tags = {}, nonce, max_usable, ...set }: NewKey & { readonly change: number },
): Promise<{ readonly key: string; readonly record: KeyRecord }> {
  const search = searchable(made.id, set.account, set.name, made.hint);
  const stored = {
    ...made,
    ...set,
    limits: JSON.stringify(limits),
    models: textOfModels(models),
    tags: textOfTags(tags),
    nonce: nonce ?? null,
    search,
  };
  const end = `RETURNING ${keyColumns}`;
  const [record] = await connection.insert<StoredKey>('sluice.api_keys', [stored], end);
  if (max_usable !== undefined) {
    const sql = `SELECT COUNT(*) AS count FROM sluice.api_keys WHERE account = ? AND ${usableKey}`;
    const [usable] = await connection.run<{ count: number }>(sql, [set.account, made.created_ms]);
    if (usable!.count > max_usable)
      throw new TooManyKeys(`the account '${set.account}' has ${max_usable} keys`);
  }
  return { key, record: keyRecordOf(record!) };
}
