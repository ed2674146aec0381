import { firstUuidOf, timeOrderedUuid } from '../../../src/common/ids.ts';
import { Condition, type Connection, type Database, insertRows } from './database.ts';
import { type PageQuery, pagedRecords } from './paged-records.ts';

/** What is recorded: changes, and sign-ins. */
export const auditActions = [
  'account.create',
  'account.change',
  'account.disable',
  'account.enable',
  'key.create',
  'key.change',
  'key.rotate',
  'key.revoke',
  'customer.invite',
  'customer.accept',
  'customer.password',
  'customer.remove',
  'sign-in.accept',
  'sign-in.refuse',
  'sign-in.end',
] as const;

/** A change by an operator, or a sign-in. */
export interface AuditEntry {
  readonly id: string;
  readonly at_ms: number;
  /** `cli:alice`, or the name of a dashboard user. */
  readonly actor: string;
  /** The network address of the actor's browser; empty for the command line. */
  readonly address: string;
  readonly action: (typeof auditActions)[number];
  /** The id of the account or key, for customers their account; of a sign-in `dashboard` or `portal`. */
  readonly target: string;
  /** What was set, as JSON, and under `before` what was there until then; never a key. */
  readonly detail: string;
}

/** Actions by the part of their name before the point: `account`, `key`, `customer`, `sign-in`. */
export const auditGroups: ReadonlyMap<string, readonly AuditEntry['action'][]> = Map.groupBy(
  auditActions,
  action => action.split('.')[0]!,
);

/** The actions of a group, or the one of this name; undefined for neither. */
export function actionsNamed(name: string): readonly AuditEntry['action'][] | undefined {
  const one = auditActions.find(action => action === name);
  return one ? [one] : auditGroups.get(name);
}

/** Who changes something, and when. */
export type Operator = Pick<AuditEntry, 'actor' | 'at_ms'> & Partial<Pick<AuditEntry, 'address'>>;

/** Records something in the log, in the transaction that does it; `recordChange` is for keys and accounts. */
export async function recordEntry(
  connection: Connection,
  { actor, at_ms, address = '' }: Operator,
  { action, target, detail }: { action: AuditEntry['action']; target: string; detail: object },
): Promise<void> {
  const id = timeOrderedUuid(at_ms);
  const entry = { id, at_ms, actor, address, action, target, detail: JSON.stringify(detail) };
  await insertRows(connection, 'sluice.audit_log', [entry]);
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

export interface AuditQuery extends PageQuery {
  /** The id of an account or key. */
  readonly target?: string | undefined;
  /** An account: changes of its keys and of its customers only. */
  readonly customers_of?: string | undefined;
  /** A name as it is recorded. */
  readonly actor?: string | undefined;
  readonly actions?: readonly AuditEntry['action'][] | undefined;
  /** From this time on. */
  readonly from_ms?: number | undefined;
  /** Before this time. */
  readonly until_ms?: number | undefined;
}

/** The changes of an account's keys and customers. A key's id and an account's may be the same text. */
const ofCustomers = `((action LIKE 'key.%' AND target IN (SELECT id FROM sluice.api_keys WHERE account = ?))
  OR (action LIKE 'customer.%' AND target = ?))`;

/** The operators' changes, newest first. */
export const auditLog = (database: Database) => ({
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

  /** Records a sign-in, or the end of one, which no other instance need notice. */
  signIn: (
    who: Operator,
    action: Extract<AuditEntry['action'], `sign-in.${string}`>,
    target: 'dashboard' | 'portal',
    detail: object = {},
  ) => database.transaction(connection => recordEntry(connection, who, { action, target, detail })),
});
