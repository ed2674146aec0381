import {
  type AccountChange,
  type AccountQuery,
  type AccountRecord,
  type AccountRecords,
  AlreadyThere,
  type AuditEntry,
  type ChangeOf,
  type CheckOf,
  type Connection,
  type Database,
  idsAbove,
  max_parents,
  NotThere,
  type Operator,
  rowMarks,
} from '../../../src/store-plugin.ts';
import { credited, usedUsd } from './account-credit.ts';
import { recordChange } from './audit-log.ts';
import { changedFields, changeOf, changesNothing } from './changed-fields.ts';
import { pagedRecords } from './paged-records.ts';
import { Condition, searchable, usableKey } from './statements.ts';

/**
 * The limits that a row has. Text that is no JSON, as after a change by hand, stays text: it is no limits, so that this account or key alone is refused.
 */
export function storedLimits(text: string): AccountRecord['limits'] {
  try {
    return JSON.parse(text) as AccountRecord['limits'];
  } catch {
    return text as unknown as AccountRecord['limits'];
  }
}

/** The models that a row names. Text that is no JSON stays text: it is no list, so that this account or key alone is refused. */
export const storedModels = (text: string | null): AccountRecord['models'] =>
  text === null ? null : (storedLimits(text) as unknown as readonly string[]);

export const textOfModels = (models: AccountRecord['models']): string | null =>
  models && JSON.stringify(models);

/** Contacts are one on each line. */
type StoredAccount = Omit<AccountRecord, 'limits' | 'contacts' | 'models'> & {
  readonly limits: string;
  readonly contacts: string;
  readonly models: string | null;
};

const columns = 'id, plan, limits, created_ms, display_name, contacts, parent, models, disabled_ms';

/** The accounts of the store, by id. */
export const accountRecords = (database: Database): AccountRecords => ({
  ...pagedRecords<AccountRecord, AccountQuery, StoredAccount>(database, {
    name: 'sluice.accounts',
    columns,
    orderOf: () => ({ direction: 'ASC' }),
    recordOf: accountOf,
    conditionOf: ({ id, search, plan }) =>
      new Condition().and('id = ?', id).containing(search).and('plan = ?', plan),
  }),

  async lookUp(ids) {
    const sql = `SELECT ${columns} FROM sluice.accounts WHERE id IN ${rowMarks(1, ids.length)}`;
    return (await database.run<StoredAccount>(sql, ids)).map(accountOf);
  },

  async activity(ids, at_ms) {
    await database.settle?.();
    // Postgres takes the type of the column from the first row.
    const marks = ['(CAST(? AS TEXT))', ...Array(ids.length - 1).fill('(?)')];
    return database.run(
      `WITH asked (id) AS (VALUES ${marks.join(', ')})
      SELECT id, (SELECT MAX(started_ms) FROM sluice.ledger WHERE account = asked.id) AS last_used_ms,
        (SELECT COUNT(*) FROM (SELECT 1 FROM sluice.api_keys WHERE account = asked.id AND ${usableKey} LIMIT 1000) AS usable) AS active_keys
      FROM asked`,
      [...ids, at_ms],
    );
  },

  below: ids => accountsBelow(database, ids),

  create: ({ id, plan, limits, display_name = '', contacts = [], parent = null, models = null }, operator) =>
    database.transaction(async connection => {
      const named = display_name !== '' && { display_name };
      const change = await recordChange(connection, operator, 'account.create', id, {
        plan,
        limits,
        ...named,
        ...(contacts.length > 0 && { contacts }),
        ...(parent !== null && { parent }),
        ...(models !== null && { models }),
      });
      // The number of the change is given to one transaction at a time, so that no other adds the name meanwhile.
      const folded = id.toLowerCase();
      const [taken] = await connection.run<{ id: string }>(
        'SELECT id FROM sluice.accounts WHERE folded = ? OR id = ?',
        [folded, id],
      );
      if (taken) throw new AlreadyThere(taken.id);
      await checkParent(connection, id, parent);
      const texts = { limits: JSON.stringify(limits), contacts: contacts.join('\n') };
      const stored = { id, plan, ...texts, display_name, parent, models: textOfModels(models) };
      const search = searchable(id, display_name);
      const row = { ...stored, folded, search, created_ms: operator.at_ms, change };
      const [made] = await connection.insert<StoredAccount>('sluice.accounts', [row], `RETURNING ${columns}`);
      return accountOf(made!);
    }),

  change: (id, set, operator) => changed(database, id, set, 'account.change', operator),

  disable: (id, operator, check) =>
    changed(database, id, checked({ disabled_ms: operator.at_ms }, check), 'account.disable', operator),

  enable: (id, operator, check) =>
    changed(database, id, checked({ disabled_ms: null }, check), 'account.enable', operator),

  async topUp(id, credit, operator) {
    const below = await accountsBelow(database, [id]);
    const used_usd = await usedUsd(database, [id, ...below.map(account => account.id)]);
    const set = (now: AccountRecord) => ({ limits: credited(now, credit, used_usd) });
    const { amount_usd, reason } = credit;
    return changed(database, id, set, 'account.credit', operator, { amount_usd, ...(reason && { reason }) });
  },
});

function accountsBelow(database: Database, ids: readonly string[]): ReturnType<AccountRecords['below']> {
  const among = `IN ${rowMarks(1, ids.length)}`;
  return database.run(
    `SELECT id, parent AS above FROM sluice.accounts WHERE parent ${among}
    UNION ALL SELECT g.id, c.parent AS above FROM sluice.accounts c JOIN sluice.accounts g ON g.parent = c.id WHERE c.parent ${among}`,
    [...ids, ...ids],
  );
}

function accountOf({ limits, contacts, models, ...row }: StoredAccount): AccountRecord {
  return {
    ...row,
    limits: storedLimits(limits),
    contacts: contacts.split('\n').filter(Boolean),
    models: storedModels(models),
  };
}

const checked = (set: Settings, check?: CheckOf<AccountRecord>) => (now: AccountRecord) => {
  check?.(now);
  return set;
};

type Settings = AccountChange & Partial<Pick<AccountRecord, 'disabled_ms'>>;

/** Changes an account and records what was there before; writes nothing if it is so already. Throws NotThere. */
function changed(
  database: Database,
  id: string,
  change: ChangeOf<AccountRecord, Settings>,
  action: AuditEntry['action'],
  operator: Operator,
  more: object = {},
): Promise<AccountRecord> {
  return database.transaction(async connection => {
    // An update that changes nothing reads the row and keeps others from changing it, in every database.
    const [row] = await connection.run<StoredAccount>(
      `UPDATE sluice.accounts SET id = id WHERE id = ? RETURNING ${columns}`,
      [id],
    );
    if (!row) throw new NotThere(`there is no account '${id}'`);
    const before = accountOf(row);
    const set = changeOf(change, before);
    const isDisabled = before.disabled_ms !== null;
    if (
      set.disabled_ms === undefined ? changesNothing(before, set) : isDisabled === (set.disabled_ms !== null)
    )
      return before;
    const after: AccountRecord = { ...before, ...set };
    const { plan, limits, display_name, contacts, parent, models, disabled_ms } = after;
    const fields = { plan, limits, display_name, contacts, parent, models };
    const detail = set.disabled_ms === undefined ? { ...changedFields(before, fields), ...more } : {};
    const number = await recordChange(connection, operator, action, id, detail);
    if (parent !== before.parent) await checkParent(connection, id, parent);
    await connection.run(
      'UPDATE sluice.accounts SET plan = ?, limits = ?, display_name = ?, contacts = ?, parent = ?, models = ?, search = ?, disabled_ms = ?, change = ? WHERE id = ?',
      [
        plan,
        JSON.stringify(limits),
        display_name,
        contacts.join('\n'),
        parent,
        textOfModels(models),
        searchable(id, display_name),
        disabled_ms,
        number,
        id,
      ],
    );
    return after;
  });
}

/**
 * Throws RecordRefused for a parent that an account cannot have: see `idsAbove`, of it and of those below it. The number of the change is
 * given to one transaction at a time, so that no other moves an account meanwhile.
 */
async function checkParent(connection: Connection, id: string, parent: string | null): Promise<void> {
  if (parent === null) return;
  const parents = new Map([[id, parent]]);
  // Ends above the highest that may be, or where it began.
  for (let at: string | null = parent; at !== null && !parents.has(at) && parents.size <= max_parents + 1; ) {
    const sql = 'SELECT parent FROM sluice.accounts WHERE id = ?';
    const [above]: { parent: string | null }[] = await connection.run(sql, [at]);
    if (above?.parent == null) break;
    parents.set(at, above.parent);
    at = above.parent;
  }
  const [below] = await connection.run<{ id: string; last: string | null }>(
    `SELECT c.id, g.id AS last FROM sluice.accounts c LEFT JOIN sluice.accounts g ON g.parent = c.id
    WHERE c.parent = ? ORDER BY CASE WHEN g.id IS NULL THEN 1 ELSE 0 END LIMIT 1`,
    [id],
  );
  if (below && !parents.has(below.id)) parents.set(below.id, id);
  if (below?.last != null && !parents.has(below.last)) parents.set(below.last, below.id);
  for (const each of parents.keys()) idsAbove(each, name => parents.get(name));
}
