import type { Database, SessionRecord, SessionRecords } from '../../../src/store-plugin.ts';
import { Condition } from './statements.ts';

/** Sessions of one person, a customer's of one account, above which the one that was used longest ago ends. */
const max_of_actor = 20;

const columns = 'digest, actor, role, account, proof, started_ms, seen_ms';

/** The sessions of all instances. */
export const sessionRecords = (database: Database): SessionRecords => ({
  start: (session, ended) =>
    database.transaction(async connection => {
      const { actor, role, account } = session;
      // The portal's sessions may end sooner than the dashboard's, or later.
      const area = role === 'customer' ? "role = 'customer'" : "role <> 'customer'";
      await connection.run(
        `DELETE FROM sluice.sessions WHERE (started_ms <= ? OR seen_ms <= ?) AND ${area}`,
        [ended.started_ms, ended.seen_ms],
      );
      await connection.insert('sluice.sessions', [{ ...session }]);
      await connection.run(
        `DELETE FROM sluice.sessions WHERE actor = ? AND role = ? AND account = ? AND digest NOT IN
        (SELECT digest FROM sluice.sessions WHERE actor = ? AND role = ? AND account = ?
        ORDER BY seen_ms DESC, started_ms DESC LIMIT ?)`,
        [actor, role, account, actor, role, account, max_of_actor],
      );
    }),

  async find(digest) {
    const sql = `SELECT ${columns} FROM sluice.sessions WHERE digest = ?`;
    return (await database.run<SessionRecord>(sql, [digest]))[0];
  },

  seen: (digest, at_ms) =>
    database.transaction(connection =>
      connection.run('UPDATE sluice.sessions SET seen_ms = ? WHERE digest = ? AND seen_ms < ?', [
        at_ms,
        digest,
        at_ms,
      ]),
    ),

  end: which => {
    const where = new Condition()
      .and('digest = ?', which.digest)
      .and('actor = ?', which.actor)
      .and('account = ?', which.account);
    if (where.values.length === 0) return Promise.resolve([]);
    return database.transaction(connection =>
      connection.run(`DELETE FROM sluice.sessions ${where.sql}`, where.values),
    );
  },
});
