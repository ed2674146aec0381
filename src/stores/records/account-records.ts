import { type Operator, recordChange } from './audit-log.ts';
import { Condition } from './condition.ts';
import { containing, type Database, searchable } from './database.ts';

/** An account of the store. */
export interface AccountRecord {
  readonly id: string;
  /** A plan of the configuration. */
  readonly plan: string | null;
  /** What the account may do beyond or short of its plan, as in the configuration. */
  readonly limits: Readonly<Record<string, unknown>>;
  readonly created_ms: number;
}

export interface AccountQuery {
  readonly id?: string;
  /** A part of the id, in any case. */
  readonly search?: string;
  readonly plan?: string;
  /** The id of the last account of the page before. */
  readonly after?: string;
  readonly limit: number;
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
export class AccountRecords {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Throws AlreadyThere. */
  async create(
    { id, plan, limits }: Omit<AccountRecord, 'created_ms'>,
    operator: Operator,
  ): Promise<AccountRecord> {
    return this.#database.transaction(async connection => {
      const detail = { plan, limits };
      const change = await recordChange(connection, operator, {
        action: 'account.create',
        target: id,
        detail,
      });
      const rows = await connection.run(
        `INSERT INTO accounts (id, plan, limits, search, created_ms, change) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (id) DO NOTHING RETURNING id`,
        [id, plan, JSON.stringify(limits), searchable(id), operator.at_ms, change],
      );
      if (rows.length === 0) throw new AlreadyThere(`there is an account '${id}' already`);
      return { id, plan, limits, created_ms: operator.at_ms };
    });
  }

  /** Sets what is given and leaves the rest. Throws NotThere. */
  async change(
    id: string,
    set: Partial<Pick<AccountRecord, 'plan' | 'limits'>>,
    operator: Operator,
  ): Promise<AccountRecord> {
    return this.#database.transaction(async connection => {
      const change = await recordChange(connection, operator, {
        action: 'account.change',
        target: id,
        detail: set,
      });
      const assignments = ['change = ?', ...Object.keys(set).map(name => `${name} = ?`)];
      const values = Object.values(set).map(value =>
        typeof value === 'object' && value !== null ? JSON.stringify(value) : value,
      );
      const [row] = await connection.run<StoredAccount>(
        `UPDATE accounts SET ${assignments.join(', ')} WHERE id = ? RETURNING id, plan, limits, created_ms`,
        [change, ...values, id],
      );
      if (!row) throw new NotThere(`there is no account '${id}'`);
      return accountOf(row);
    });
  }

  async find(id: string): Promise<AccountRecord | undefined> {
    const [found] = await this.list({ id, limit: 1 });
    return found;
  }

  /** A page of accounts in the order of their ids. */
  async list({ limit, after, ...query }: AccountQuery): Promise<AccountRecord[]> {
    const where = conditionOf(query).and('id > ?', after);
    const rows = await this.#database.run<StoredAccount>(
      `SELECT id, plan, limits, created_ms FROM accounts ${where.sql} ORDER BY id LIMIT ?`,
      [...where.values, limit],
    );
    return rows.map(accountOf);
  }

  /** How many accounts all pages together have. */
  async count(query: Omit<AccountQuery, 'after' | 'limit'> = {}): Promise<number> {
    const where = conditionOf(query);
    const [row] = await this.#database.run<{ count: number }>(
      `SELECT COUNT(*) AS count FROM accounts ${where.sql}`,
      where.values,
    );
    return row!.count;
  }
}

function conditionOf({ id, search, plan }: Omit<AccountQuery, 'after' | 'limit'>): Condition {
  return new Condition()
    .and('id = ?', id)
    .and("search LIKE ? ESCAPE '!'", search ? containing(search) : undefined)
    .and('plan = ?', plan);
}

function accountOf({ limits, ...row }: StoredAccount): AccountRecord {
  return { ...row, limits: JSON.parse(limits) as AccountRecord['limits'] };
}
