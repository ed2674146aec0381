import { type Connection, type KeyRecord, NotThere } from '../../../src/plugin.ts';
import { storedLimits, storedModels } from './account-records.ts';

/** A key as its row has it. */
export type StoredKey = Omit<KeyRecord, 'limits' | 'models'> & {
  readonly limits: string;
  readonly models: string | null;
};

export const keyColumns =
  'id, account, name, hint, limits, models, created_ms, expires_ms, revoked_ms, last_used_ms';

/** SQL for a key that can be used; takes the present time. */
export const usableKey = 'revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > ?)';

/** The key that a row has. */
export const keyRecordOf = ({ limits, models, ...row }: StoredKey): KeyRecord => ({
  ...row,
  limits: storedLimits(limits),
  models: storedModels(models),
});

/** Reads a key in a transaction, and keeps others from changing it: an update that changes nothing does so in every database. Throws NotThere. */
export async function keyIn(connection: Connection, id: string): Promise<KeyRecord> {
  const sql = `UPDATE sluice.api_keys SET id = id WHERE id = ? RETURNING ${keyColumns}`;
  const [known] = await connection.run<StoredKey>(sql, [id]);
  if (!known) throw new NotThere(`there is no key '${id}'`);
  return keyRecordOf(known);
}
