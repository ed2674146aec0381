import {
  type Database,
  type ImportedKey,
  type KeyImport,
  keyId,
  type Operator,
  RecordRefused,
  rowMarks,
} from '../../../src/store-plugin.ts';
import { textOfModels } from './account-records.ts';
import { recordChange } from './audit-log.ts';
import { textOfTags } from './key-record.ts';
import { searchable } from './statements.ts';

/** Digests that are looked up, and rows that are inserted, by one statement. */
const rows_at_once = 500;

/** Takes keys that were made elsewhere, all or none; those that are here already, also revoked ones, stay as they are. */
export function importKeys(
  database: Database,
  keys: readonly ImportedKey[],
  operator: Operator,
): Promise<KeyImport> {
  return database.longTransaction(async connection => {
    const owners = new Map<string, string>();
    for (const some of inParts(keys)) {
      const sql = `SELECT digest, account FROM sluice.api_keys WHERE digest IN ${rowMarks(1, some.length)}`;
      const found = await connection.run<{ digest: string; account: string }>(
        sql,
        some.map(({ digest }) => digest),
      );
      for (const { digest, account } of found) owners.set(digest, account);
    }
    const rows = [];
    for (const {
      digest,
      account,
      name,
      hint = '',
      expires_ms = null,
      limits = {},
      models = null,
      tags = {},
    } of keys) {
      const owner = owners.get(digest);
      if (owner !== undefined && owner !== account)
        throw new RecordRefused(
          `the key ${digest.slice(0, 12)}… of account '${account}' belongs to the account '${owner}' already`,
        );
      if (owner !== undefined) continue;
      owners.set(digest, account);
      const id = keyId(operator.at_ms);
      const detail = { account, name, expires_ms };
      const change = await recordChange(connection, operator, 'key.import', id, detail);
      const texts = {
        limits: JSON.stringify(limits),
        models: textOfModels(models),
        tags: textOfTags(tags),
        search: searchable(id, account, name, hint),
      };
      const stored = { id, account, name, hint, digest, ...texts, expires_ms, nonce: null };
      rows.push({ ...stored, created_ms: operator.at_ms, change, imported: 1 });
    }
    for (const some of inParts(rows)) await connection.insert('sluice.api_keys', some);
    return { imported: rows.length, known: keys.length - rows.length };
  });
}

function* inParts<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += rows_at_once) yield all.slice(at, at + rows_at_once);
}
