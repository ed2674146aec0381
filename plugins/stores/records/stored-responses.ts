import {
  type Database,
  rowMarks,
  type StoredResponse,
  type StoredResponses,
} from '../../../src/store-plugin.ts';

const columns = 'id, account, parent, created_ms, expires_ms, chain_items, chain_bytes, content';
const replaced = columns
  .split(', ')
  .slice(2)
  .map(name => `${name} = excluded.${name}`)
  .join(', ');

/** Stored responses. Where they are in memory, `max_bytes` of content are kept, the newest ones. */
export const storedResponses = (database: Database, max_bytes = Infinity): StoredResponses => ({
  put: (response, before) =>
    database.transaction(async connection => {
      if (before !== undefined) {
        const { id, account, parent, content } = response;
        const changed = await connection.run(
          `UPDATE sluice.stored_responses SET parent = ?, content = ?, own_bytes = ?
          WHERE id = ? AND account = ? AND parent IS NOT DISTINCT FROM ? RETURNING 1 AS changed`,
          [parent, content, content.length, id, account, before],
        );
        return changed.length > 0;
      }
      const end = `ON CONFLICT (id) DO UPDATE SET ${replaced}, own_bytes = excluded.own_bytes
        WHERE stored_responses.account = excluded.account`;
      const row = { ...response, own_bytes: response.content.length };
      await connection.insert('sluice.stored_responses', [row], end);
      if (max_bytes === Infinity) return true;
      await connection.run(
        `DELETE FROM sluice.stored_responses WHERE id IN (SELECT id FROM
        (SELECT id, SUM(own_bytes) OVER (ORDER BY created_ms DESC, id) AS newer_bytes FROM sluice.stored_responses)
        WHERE newer_bytes > ?)`,
        [max_bytes],
      );
      return true;
    }),

  lookUp: async (account, ids, now_ms) =>
    ids.length === 0
      ? []
      : database.run<StoredResponse>(
          `SELECT ${columns} FROM sluice.stored_responses
          WHERE id IN ${rowMarks(1, ids.length)} AND account = ? AND expires_ms > ?`,
          [...ids, account, now_ms],
        ),

  chain: (account, id, now_ms, limit) =>
    database.run<StoredResponse>(
      `WITH RECURSIVE chain AS (
        SELECT id, parent, 1 AS place FROM sluice.stored_responses
        WHERE id = ? AND account = ? AND expires_ms > ?
        UNION ALL
        SELECT older.id, older.parent, chain.place + 1 FROM chain
        JOIN sluice.stored_responses older ON older.id = chain.parent
        WHERE older.account = ? AND older.expires_ms > ? AND chain.place < ?
      )
      SELECT ${columns.replaceAll(/\w+/g, 'kept.$&')} FROM chain
      JOIN sluice.stored_responses kept ON kept.id = chain.id ORDER BY chain.place DESC`,
      [id, account, now_ms, account, now_ms, limit],
    ),

  delete: (account, id) =>
    database.transaction(async connection => {
      const deleted = await connection.run(
        'DELETE FROM sluice.stored_responses WHERE id = ? AND account = ? RETURNING 1 AS deleted',
        [id, account],
      );
      return deleted.length > 0;
    }),
});
