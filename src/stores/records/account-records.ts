import { type Operator, recordChange } from './audit-log.ts';
import { Condition, type Database, insertOnce, rowMarks, searchable } from './database.ts';
import { type PageQuery, pagedRecords } from './paged-records.ts';

/** An account of the store. */
export interface AccountRecord {
  readonly id: string;
  /** A plan of the configuration. */
  readonly plan: string | null;
  /** Limits in place of those of the plan, as in the configuration. */
  readonly limits: Readonly<Record<string, unknown>>;
  readonly created_ms: number;
}

/** `search` is a part of the id. */
export interface AccountQuery extends PageQuery {
  readonly plan?: string | undefined;
}

/** Whether an account of the store may be called `id`: letters, digits and `_ . @ : + -`, at most 128 characters. */
export const isAccountName = (id: string): boolean => /^[\p{L}\p{N}][\p{L}\p{N}_.@:+-]{0,127}$/u.test(id);

/** The name is taken. */
export class AlreadyThere extends Error {
  override readonly name = 'AlreadyThere';
}

/** There is no record of this name. */
export class NotThere extends Error {
  override readonly name = 'NotThere';
}

type StoredAccount = Omit<AccountRecord, 'limits'> & { readonly limits: string };

const columns = 'id, plan, limits, created_ms';

/** The accounts of the store, by id. */
export const accountRecords = (database: Database) => ({
  ...pagedRecords<AccountRecord, AccountQuery, StoredAccount>(database, {
    name: 'sluice.accounts',
    columns,
    order: 'ASC',
    recordOf: accountOf,
    conditionOf: ({ id, search, plan }) =>
      new Condition().and('id = ?', id).containing(search).and('plan = ?', plan),
  }),

  /** The accounts that have these ids. */
  async lookUp(ids: readonly string[]): Promise<AccountRecord[]> {
    const sql = `SELECT ${columns} FROM sluice.accounts WHERE id IN ${rowMarks(1, ids.length)}`;
    return (await database.run<StoredAccount>(sql, ids)).map(accountOf);
  },

  /** Throws AlreadyThere. */
  create: ({ id, plan, limits }: Omit<AccountRecord, 'created_ms'>, operator: Operator) =>
    database.transaction(async connection => {
      const change = await recordChange(connection, operator, 'account.create', id, { plan, limits });
      const account: AccountRecord = { id, plan, limits, created_ms: operator.at_ms };
      const [made] = await insertOnce(connection, 'sluice.accounts', [account], () => ({
        ...account,
        limits: JSON.stringify(limits),
        search: searchable(id),
        change,
      }));
      if (!made) throw new AlreadyThere(`there is an account '${id}' already`);
      return made;
    }),

  /** Sets what is given and leaves the rest. Throws NotThere. */
  change: (id: string, set: Partial<Pick<AccountRecord, 'plan' | 'limits'>>, operator: Operator) =>
    database.transaction(async connection => {
      const change = await recordChange(connection, operator, 'account.change', id, set);
      const { plan, limits } = set;
      const stored = {
        change,
        ...(plan !== undefined && { plan }),
        ...(limits && { limits: JSON.stringify(limits) }),
      };
      const assignments = Object.keys(stored).map(name => `${name} = ?`);
      const [row] = await connection.run<StoredAccount>(
        `UPDATE sluice.accounts SET ${assignments.join(', ')} WHERE id = ? RETURNING ${columns}`,
        [...Object.values(stored), id],
      );
      if (!row) throw new NotThere(`there is no account '${id}'`);
      return accountOf(row);
    }),
});

export type AccountRecords = ReturnType<typeof accountRecords>;

function accountOf({ limits, ...row }: StoredAccount): AccountRecord {
  return { ...row, limits: JSON.parse(limits) as AccountRecord['limits'] };
}
