import {
  type AdminKeyQuery,
  type AdminKeyRecord,
  type AdminKeyRecords,
  type Connection,
  type Database,
  keyId,
  NameTaken,
  NotThere,
  newAdminSecret,
} from '../../../src/store-plugin.ts';
import { recordEntry } from './audit-log.ts';
import { pagedRecords } from './paged-records.ts';
import { Condition, searchable, usableKey } from './statements.ts';

const name = 'sluice.admin_keys';
const columns = 'id, name, role, hint, created_ms, expires_ms, revoked_ms, last_used_ms';

/** The keys of the Admin API. */
export const adminKeys = (database: Database): AdminKeyRecords => ({
  ...pagedRecords<AdminKeyRecord, AdminKeyQuery, AdminKeyRecord>(database, {
    name,
    columns,
    orderOf: () => ({ direction: 'DESC' }),
    recordOf: row => row,
    conditionOf: ({ id, search, usable_at_ms }) =>
      new Condition().and('id = ?', id).containing(search).and(usableKey, usable_at_ms),
  }),

  create: (set, operator) =>
    database.transaction(async connection => {
      const { at_ms } = operator;
      const id = keyId(at_ms, 'admin_key');
      const { key, digest, hint } = newAdminSecret();
      await recordEntry(connection, operator, { action: 'admin-key.create', target: id, detail: set });
      // One after the other, so that no other takes the name meanwhile.
      await connection.run('UPDATE sluice.change_counter SET value = value');
      const folded = set.name.toLowerCase();
      const taken = `SELECT id FROM ${name} WHERE folded = ? AND ${usableKey}`;
      if ((await connection.run(taken, [folded, at_ms])).length > 0)
        throw new NameTaken(`there is an admin key '${set.name}' already`);
      const row = { id, ...set, folded, digest, hint, search: searchable(id, set.name), created_ms: at_ms };
      const [record] = await connection.insert<AdminKeyRecord>(name, [row], `RETURNING ${columns}`);
      return { key, record: record! };
    }),

  revoke: (id, operator) =>
    database.transaction(async connection => {
      const known = await keyIn(connection, id);
      if (known.revoked_ms !== null) return known;
      const detail = { name: known.name, role: known.role };
      await recordEntry(connection, operator, { action: 'admin-key.revoke', target: id, detail });
      const revoked_ms = operator.at_ms;
      await connection.run(`UPDATE ${name} SET revoked_ms = ? WHERE id = ?`, [revoked_ms, id]);
      return { ...known, revoked_ms };
    }),

  async lookUp(digest) {
    const sql = `SELECT ${columns} FROM ${name} WHERE digest = ?`;
    return (await database.run<AdminKeyRecord>(sql, [digest]))[0];
  },

  async used(id, at_ms) {
    const sql = `UPDATE ${name} SET last_used_ms = ? WHERE id = ? AND COALESCE(last_used_ms, 0) < ?`;
    await database.transaction(connection => connection.run(sql, [at_ms, id, at_ms]));
  },
});

/** Reads a key and keeps others from changing it. Throws NotThere. */
async function keyIn(connection: Connection, id: string): Promise<AdminKeyRecord> {
  const sql = `UPDATE ${name} SET id = id WHERE id = ? RETURNING ${columns}`;
  const [known] = await connection.run<AdminKeyRecord>(sql, [id]);
  if (!known) throw new NotThere(`there is no admin key '${id}'`);
  return known;
}
