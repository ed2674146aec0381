import { type AuditEntry, type Operator, recordChange } from './audit-log.ts';
import { type ChangeOf, changedFields, changeOf, changesNothing } from './changed-fields.ts';
import { Condition, type Database, insertRows, rowMarks, searchable } from './database.ts';
import { type PageQuery, pagedRecords } from './paged-records.ts';

/** An account of the store. */
export interface AccountRecord {
  readonly id: string;
  /** A plan of the configuration. */
  readonly plan: string | null;
  /** Limits in place of those of the plan, as in the configuration. */
  readonly limits: Readonly<Record<string, unknown>>;
  readonly created_ms: number;
  /** Shown beside the id; empty for none. */
  readonly display_name: string;
  /** When it was disabled: its requests are refused since; `null` while it is enabled. */
  readonly disabled_ms: number | null;
}

/** A new account. */
export interface NewAccount extends Pick<AccountRecord, 'id' | 'plan' | 'limits'> {
  readonly display_name?: string;
}

/** What can be changed of an account. */
export type AccountChange = Partial<Pick<AccountRecord, 'plan' | 'limits' | 'display_name'>>;

/** `search` is a part of the id or the display name. */
export interface AccountQuery extends PageQuery {
  readonly plan?: string | undefined;
}

/** Whether an account of the store may be called `id`: letters, digits and `_ . @ : + -`, at most 128 characters. */
export const isAccountName = (id: string): boolean => /^[\p{L}\p{N}][\p{L}\p{N}_.@:+-]{0,127}$/u.test(id);

/** Whether `text` may be a display name: at most 100 characters, without control characters and space around it. */
export const isDisplayName = (text: string): boolean =>
  text.length <= max_display_name && text.isWellFormed() && !/\p{Cc}/u.test(text) && text.trim() === text;

/** Characters of a display name. */
export const max_display_name = 100;

/** The one of `names` that differs from `id` in upper and lower case at most. */
export const sameName = (names: readonly string[], id: string): string | undefined =>
  names.find(name => name.toLowerCase() === id.toLowerCase());

/** The name is taken. */
export class AlreadyThere extends Error {
  override readonly name = 'AlreadyThere';
  /** The account that has it, which may differ in upper and lower case. */
  readonly taken: string;

  constructor(taken: string) {
    super(`there is an account '${taken}' already`);
    this.taken = taken;
  }
}

/** There is no record of this name. */
export class NotThere extends Error {
  override readonly name = 'NotThere';
}

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
export const accountRecords = (database: Database) => ({
  ...pagedRecords<AccountRecord, AccountQuery, StoredAccount>(database, {
    name: 'sluice.accounts',
    columns,
    orderOf: () => ({ direction: 'ASC' }),
    recordOf: accountOf,
    conditionOf: ({ id, search, plan }) =>
      new Condition().and('id = ?', id).containing(search).and('plan = ?', plan),
  }),

  /** The accounts that have these ids. */
  async lookUp(ids: readonly string[]): Promise<AccountRecord[]> {
    const sql = `SELECT ${columns} FROM sluice.accounts WHERE id IN ${rowMarks(1, ids.length)}`;
    return (await database.run<StoredAccount>(sql, ids)).map(accountOf);
  },

  /** Throws AlreadyThere, also for an id that differs from another's in upper and lower case only. */
  create: ({ id, plan, limits, display_name = '' }: NewAccount, operator: Operator) =>
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
      const [made] = await insertRows<StoredAccount>(
        connection,
        'sluice.accounts',
        [row],
        `RETURNING ${columns}`,
      );
      return accountOf(made!);
    }),

  /** Sets what is given, or what `set` makes of the account as it is in this transaction, and leaves the rest. Throws NotThere. */
  change: (id: string, set: ChangeOf<AccountRecord, AccountChange>, operator: Operator) =>
    changed(database, id, set, 'account.change', operator),

  /** Has all requests of an account refused; one that is disabled already stays as it is. Throws NotThere. */
  disable: (id: string, operator: Operator) =>
    changed(database, id, { disabled_ms: operator.at_ms }, 'account.disable', operator),

  /** Admits the requests of an account again. Throws NotThere. */
  enable: (id: string, operator: Operator) =>
    changed(database, id, { disabled_ms: null }, 'account.enable', operator),
});

export type AccountRecords = ReturnType<typeof accountRecords>;

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
