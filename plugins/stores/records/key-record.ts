import { NotThere, storedLimits } from './account-records.ts';
import type { Connection } from './database.ts';

/** A key of the store, without its text, of which only the last characters are stored. */
export interface KeyRecord {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly hint: string;
  /** Limits of this key, as in a plan but without models; they hold beside those of its account. */
  readonly limits: Readonly<Record<string, unknown>>;
  readonly created_ms: number;
  readonly expires_ms: number | null;
  readonly revoked_ms: number | null;
  /** To within half a minute, since uses are written beside the requests. */
  readonly last_used_ms: number | null;
}

/** A key as its row has it. */
export type StoredKey = Omit<KeyRecord, 'limits'> & { readonly limits: string };

export const keyColumns = 'id, account, name, hint, limits, created_ms, expires_ms, revoked_ms, last_used_ms';

/** SQL for a key that can be used; takes the present time. */
export const usableKey = 'revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > ?)';

/** Characters of a key's name. */
export const max_key_name = 200;

/** A key can no longer be used, and so not be changed. */
export class KeyEnded extends Error {
  override readonly name = 'KeyEnded';

  constructor(id: string) {
    super(`the key '${id}' has expired or is revoked`);
  }
}

/** A key was made with the same nonce already, perhaps at another instance. */
export class KeyExists extends Error {
  override readonly name = 'KeyExists';
  /** The id of that key. */
  readonly id: string;

  constructor(id: string) {
    super(`the key '${id}' was issued for the same form`);
    this.id = id;
  }
}

/** The key that a row has. */
export const keyRecordOf = ({ limits, ...row }: StoredKey): KeyRecord => ({
  ...row,
  limits: storedLimits(limits),
});

/** Reads a key in a transaction. Throws NotThere. */
export async function keyIn(connection: Connection, id: string): Promise<KeyRecord> {
  const sql = `SELECT ${keyColumns} FROM sluice.api_keys WHERE id = ?`;
  const [known] = await connection.run<StoredKey>(sql, [id]);
  if (!known) throw new NotThere(`there is no key '${id}'`);
  return keyRecordOf(known);
}
