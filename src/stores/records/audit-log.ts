import { type Connection, DatabaseRecords, insertRow } from './database.ts';
import { timeOrderedUuid } from './ids.ts';

/** What an operator has changed. */
export interface AuditEntry {
  readonly id: string;
  readonly at_ms: number;
  /** Who: `cli:alice`, or who was signed in. */
  readonly actor: string;
  readonly action: 'account.create' | 'account.change' | 'key.create' | 'key.revoke';
  /** The id of the account or key. */
  readonly target: string;
  /** What was set, as JSON; never a key. */
  readonly detail: string;
}

/** Who changes something, and when. */
export interface Operator {
  readonly actor: string;
  readonly at_ms: number;
}

/** Writes down a change, in the transaction that makes it; `change` is its number, by which instances notice it. */
export async function recordChange(
  connection: Connection,
  { actor, at_ms }: Operator,
  action: AuditEntry['action'],
  target: string,
  detail: object,
): Promise<number> {
  const id = timeOrderedUuid(at_ms);
  const entry = { id, at_ms, actor, action, target, detail: JSON.stringify(detail) };
  await insertRow(connection, 'audit_log', entry);
  const [row] = await connection.run<{ value: number }>(
    'UPDATE change_counter SET value = value + 1 RETURNING value',
  );
  return row!.value;
}

/** The operators' changes, newest first. */
export class AuditLog extends DatabaseRecords {
  /** A page of at most `limit`; the next one begins `after` the id of this one's last. */
  list({
    limit,
    after,
  }: {
    readonly limit: number;
    readonly after?: string | undefined;
  }): Promise<AuditEntry[]> {
    return this.database.run<AuditEntry>(
      `SELECT id, at_ms, actor, action, target, detail FROM audit_log
      ${after === undefined ? '' : 'WHERE id < ?'} ORDER BY id DESC LIMIT ?`,
      after === undefined ? [limit] : [after, limit],
    );
  }
}
