import { type Operator, recordChange } from './audit-log.ts';
import { Condition } from './condition.ts';
import { insertRow, searchable } from './database.ts';
import { PagedRecords, type PageQuery } from './paged-records.ts';

/** An account of the store. */
export interface AccountRecord {
  readonly id: string;
  /** A plan of the configuration. */
  readonly plan: string | null;
  /** What the account may do beyond or short of its plan, as in the configuration. */
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

/** The accounts of the store, by id. */
export class AccountRecords extends PagedRecords<AccountRecord, AccountQuery, StoredAccount> {
  protected readonly table = {
    name: 'accounts',
    columns: 'id, plan, limits, created_ms',
    order: 'ASC',
    recordOf: accountOf,
    conditionOf: ({ id, search, plan }: Partial<AccountQuery>) =>
      new Condition().and('id = ?', id).containing(search).and('plan = ?', plan),
  } as const;

  /** Throws AlreadyThere. */
  async create(
    { id, plan, limits }: Omit<AccountRecord, 'created_ms'>,
    operator: Operator,
  ): Promise<AccountRecord> {
    const created_ms = operator.at_ms;
    return this.database.transaction(async connection => {
      const change = await recordChange(connection, operator, 'account.create', id, { plan, limits });
      const stored = { id, plan, limits: JSON.stringify(limits), search: searchable(id), created_ms, change };
      const end = 'ON CONFLICT (id) DO NOTHING RETURNING id';
      const rows = await insertRow(connection, 'accounts', stored, end);
      if (rows.length === 0) throw new AlreadyThere(`there is an account '${id}' already`);
      return { id, plan, limits, created_ms };
    });
  }

  /** Sets what is given and leaves the rest. Throws NotThere. */
  async change(
    id: string,
    set: Partial<Pick<AccountRecord, 'plan' | 'limits'>>,
    operator: Operator,
  ): Promise<AccountRecord> {
    return this.database.transaction(async connection => {
      const change = await recordChange(connection, operator, 'account.change', id, set);
      const assignments = ['change = ?', ...Object.keys(set).map(name => `${name} = ?`)];
      const values = Object.values(set).map(value =>
        typeof value === 'object' && value !== null ? JSON.stringify(value) : value,
      );
      const [row] = await connection.run<StoredAccount>(
        `UPDATE accounts SET ${assignments.join(', ')} WHERE id = ? RETURNING ${this.table.columns}`,
        [change, ...values, id],
      );
      if (!row) throw new NotThere(`there is no account '${id}'`);
      return accountOf(row);
    });
  }
}

function accountOf({ limits, ...row }: StoredAccount): AccountRecord {
  return { ...row, limits: JSON.parse(limits) as AccountRecord['limits'] };
}
