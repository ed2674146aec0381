import {
  type AuditEntry,
  type AuditLog,
  type AuditQuery,
  type Connection,
  type Database,
  firstUuidOf,
  type Operator,
  timeOrderedUuid,
} from '../../../src/store-plugin.ts';
import { carryOutOnce } from './idempotent-requests.ts';
import { pagedRecords } from './paged-records.ts';
import { Condition } from './statements.ts';

/** Records something in the log, in the transaction that does it; `recordChange` is for keys and accounts. */
export async function recordEntry(
  connection: Connection,
  { actor, at_ms, address = '', once }: Operator,
  { action, target, detail }: { action: AuditEntry['action']; target: string; detail: object },
): Promise<void> {
  if (once) await carryOutOnce(connection, once, target, at_ms);
  const id = timeOrderedUuid(at_ms);
  const entry = { id, at_ms, actor, address, action, target, detail: JSON.stringify(detail) };
  await connection.insert('sluice.audit_log', [entry]);
}

/** Records a change in the transaction that makes it. Returns its number, by which other instances notice it. */
export async function recordChange(
  connection: Connection,
  operator: Operator,
  action: AuditEntry['action'],
  target: string,
  detail: object,
): Promise<number> {
  await recordEntry(connection, operator, { action, target, detail });
  const [row] = await connection.run<{ value: number }>(
    'UPDATE sluice.change_counter SET value = value + 1 RETURNING value',
  );
  return row!.value;
}

/** The changes of an account's keys and customers. A key's id and an account's may be the same text. */
const ofCustomers = `((action LIKE 'key.%' AND target IN (SELECT id FROM sluice.api_keys WHERE account = ?))
  OR (action LIKE 'customer.%' AND target = ?))`;

/** The operators' changes, newest first. */
export const auditLog = (database: Database): AuditLog => ({
  ...pagedRecords<AuditEntry, AuditQuery, AuditEntry>(database, {
    name: 'sluice.audit_log',
    columns: 'id, at_ms, actor, address, action, target, detail',
    orderOf: () => ({ direction: 'DESC' }),
    recordOf: row => row,
    conditionOf: ({ id, target, customers_of, actor, actions, from_ms, until_ms }) =>
      new Condition()
        .and('id = ?', id)
        .and('target = ?', target)
        .and(ofCustomers, customers_of, customers_of)
        .and('actor = ?', actor)
        .and(`action IN (${(actions ?? ['']).map(() => '?').join(', ')})`, ...(actions ?? [undefined]))
        .and('id >= ?', from_ms === undefined ? undefined : firstUuidOf(from_ms))
        .and('id < ?', until_ms === undefined ? undefined : firstUuidOf(until_ms)),
  }),

  record: (who, action, target, detail = {}) =>
    database.transaction(connection => recordEntry(connection, who, { action, target, detail })),
});
