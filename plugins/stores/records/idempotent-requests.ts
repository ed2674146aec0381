import {
  type CarriedOut,
  type Connection,
  type Database,
  type IdempotentRequest,
  type IdempotentRequests,
  idempotency_ms,
  RequestRepeated,
} from '../../../src/store-plugin.ts';

/** The requests that had an idempotency key. */
export const idempotentRequests = (database: Database): IdempotentRequests => ({
  async find(id, now_ms) {
    const [found] = await database.run<CarriedOut>(
      'SELECT id, fingerprint, target, answer FROM sluice.idempotent_requests WHERE id = ? AND created_ms > ?',
      [id, now_ms - idempotency_ms],
    );
    return found;
  },

  async keep(id, answer) {
    const sql = 'UPDATE sluice.idempotent_requests SET answer = ? WHERE id = ?';
    await database.transaction(connection => connection.run(sql, [answer, id]));
  },
});

/** Records a request in the transaction that carries it out. Throws RequestRepeated if another has done so; one that has not ended is waited for. */
export async function carryOutOnce(
  connection: Connection,
  { id, fingerprint }: IdempotentRequest,
  target: string,
  at_ms: number,
): Promise<void> {
  await connection.run('DELETE FROM sluice.idempotent_requests WHERE created_ms <= ?', [
    at_ms - idempotency_ms,
  ]);
  const row = { id, fingerprint, target, created_ms: at_ms };
  const end = 'ON CONFLICT (id) DO NOTHING RETURNING id';
  const inserted = await connection.insert('sluice.idempotent_requests', [row], end);
  if (inserted.length === 0) throw new RequestRepeated();
}
