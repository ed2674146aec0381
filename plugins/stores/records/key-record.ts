import { type Connection, type KeyRecord, type KeyTags, NotThere } from '../../../src/store-plugin.ts';
import { storedLimits, storedModels } from './account-records.ts';

/** A key as its row has it. */
export type StoredKey = Omit<KeyRecord, 'limits' | 'models' | 'tags'> & {
  readonly limits: string;
  readonly models: string | null;
  readonly tags: string | null;
};

export const keyColumns =
  'id, account, name, hint, limits, models, tags, created_ms, expires_ms, revoked_ms, last_used_ms';

/** The key that a row has. */
export const keyRecordOf = ({ limits, models, tags, ...row }: StoredKey): KeyRecord => ({
  ...row,
  limits: storedLimits(limits),
  models: storedModels(models),
  tags: storedTags(tags),
});

export const storedTags = (text: string | null): KeyTags =>
  text === null ? {} : (storedLimits(text) as KeyTags);

export const textOfTags = (tags: KeyTags): string | null =>
  Object.keys(tags).length === 0 ? null : JSON.stringify(tags);

/** Reads a key in a transaction, and keeps others from changing it: an update that changes nothing does so in every database. Throws NotThere. */
export async function keyIn(connection: Connection, id: string): Promise<KeyRecord> {
  const sql = `UPDATE sluice.api_keys SET id = id WHERE id = ? RETURNING ${keyColumns}`;
  const [known] = await connection.run<StoredKey>(sql, [id]);
  if (!known) throw new NotThere(`there is no key '${id}'`);
  return keyRecordOf(known);
}
