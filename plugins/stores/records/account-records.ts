import {
  type AccountChange,
  type AccountQuery,
  type AccountRecord,
  type AccountRecords,
  AlreadyThere,
  type AuditEntry,
  type ChangeOf,
  type Database,
  NotThere,
  type Operator,
  rowMarks,
} from '../../../src/plugin.ts';
import { recordChange } from './audit-log.ts';
import { changedFields, changeOf, changesNothing } from './changed-fields.ts';
import { pagedRecords } from './paged-records.ts';
import { Condition, searchable } from './statements.ts';

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

type StoredAccount = Omit<AccountRecord, 'limits'> & { readonly limits: string };

const columns = 'id, plan, limits, created_ms, display_name, disabled_ms';

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

  create: ({ id, plan, limits, display_name = '' }, operator) =>
    database.transaction(async connection => {
      const named = display_name !== '' && { display_name };
      const change = await recordChange(connection, operator, 'account.create', id, {
        plan,
        limits,
        ...named,
      });
      // The number of the change is given to one transaction at a time, so that no other adds the name meanwhile.
      const folded = id.toLowerCase();
      const [taken] = await connection.run<{ id: string }>(
        'SELECT id FROM sluice.accounts WHERE folded = ? OR id = ?',
        [folded, id],
      );
      if (taken) throw new AlreadyThere(taken.id);
      const stored = { id, plan, limits: JSON.stringify(limits), display_name };
      const search = searchable(id, display_name);
      const row = { ...stored, folded, search, created_ms: operator.at_ms, change };
      const [made] = await connection.insert<StoredAccount>('sluice.accounts', [row], `RETURNING ${columns}`);
      return accountOf(made!);
    }),

  change: (id, set, operator) => changed(database, id, set, 'account.change', operator),

  disable: (id, operator) =>
    changed(database, id, { disabled_ms: operator.at_ms }, 'account.disable', operator),

  enable: (id, operator) => changed(database, id, { disabled_ms: null }, 'account.enable', operator),
});

function accountOf({ limits, ...row }: StoredAccount): AccountRecord {
  return { ...row, limits: storedLimits(limits) };
}

type Settings = AccountChange & Partial<Pick<AccountRecord, 'disabled_ms'>>;

/** Changes an account and records what was there before; writes nothing if it is so already. Throws NotThere. */
function changed(
  database: Database,
  id: string,
  change: ChangeOf<AccountRecord, Settings>,
  action: AuditEntry['action'],
  operator: Operator,
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
    const { plan, limits, display_name, disabled_ms } = after;
    const detail = set.disabled_ms === undefined ? changedFields(before, { plan, limits, display_name }) : {};
    const number = await recordChange(connection, operator, action, id, detail);
    await connection.run(
      'UPDATE sluice.accounts SET plan = ?, limits = ?, display_name = ?, search = ?, disabled_ms = ?, change = ? WHERE id = ?',
      [plan, JSON.stringify(limits), display_name, searchable(id, display_name), disabled_ms, number, id],
    );
    return after;
  });
}
