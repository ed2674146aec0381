import {
  type Connection,
  type CustomerCheck,
  type CustomerLogin,
  type CustomerLogins,
  type Database,
  type Invitation,
  max_customers,
  NameTaken,
  type Operator,
} from '../../../src/plugin.ts';
import { recordEntry } from './audit-log.ts';

const columns = 'name, account, password_hash, created_ms, invited_until_ms';
const folded = (name: string): string => name.toLowerCase();

const again = `UPDATE SET invitation = excluded.invitation, invited_until_ms = excluded.invited_until_ms
  WHERE customers.account = excluded.account`;

/** The sign-in of an account as it is, which no other transaction changes meanwhile. */
async function locked(
  connection: Connection,
  name: string,
  account: string,
): Promise<CustomerLogin | undefined> {
  const sql = `UPDATE sluice.customers SET name = name WHERE folded = ? AND account = ? RETURNING ${columns}`;
  return (await connection.run<CustomerLogin>(sql, [folded(name), account]))[0];
}

/** The sign-ins of customers beside those of the configuration. */
export const customerLogins = (database: Database): CustomerLogins => {
  const one = async (where: string, values: readonly (string | number)[]) =>
    (await database.run<CustomerLogin>(`SELECT ${columns} FROM sluice.customers WHERE ${where}`, values))[0];
  return {
    /** Those of an account, by name. */
    list: (account: string): Promise<CustomerLogin[]> =>
      database.run<CustomerLogin>(
        `SELECT ${columns} FROM sluice.customers WHERE account = ? ORDER BY folded LIMIT ?`,
        [account, max_customers],
      ),

    /** In any case of the name. */
    find: (name: string): Promise<CustomerLogin | undefined> => one('folded = ?', [folded(name)]),

    /** Whom an invitation is for that can be accepted at this time. */
    invited: (digest: string, at_ms: number): Promise<CustomerLogin | undefined> =>
      one('invitation = ? AND invited_until_ms > ?', [digest, at_ms]),

    /** Invites a customer, or the same one again: earlier invitations end, a password goes on working. Throws NameTaken. */
    invite: ({ name, account, digest, until_ms }: Invitation, operator: Operator, check?: CustomerCheck) =>
      database.transaction(async connection => {
        const before = check && (await locked(connection, name, account));
        check?.(before);
        // Of two who invite the same person for the first time at once the later one is refused.
        const isFirst = check !== undefined && before === undefined;
        await recordEntry(connection, operator, {
          action: 'customer.invite',
          target: account,
          detail: { customer: name, expires_ms: until_ms },
        });
        const values = [folded(name), name, account, operator.at_ms, digest, until_ms];
        const [invited] = await connection.run(
          `INSERT INTO sluice.customers (folded, name, account, created_ms, invitation, invited_until_ms) VALUES (?, ?, ?, ?, ?, ?)
          ON CONFLICT (folded) DO ${isFirst ? 'NOTHING' : again} RETURNING name`,
          values,
        );
        if (!invited) throw new NameTaken(`the name '${name}' is that of another customer`);
      }),

    /** Sets the password of the customer who has this invitation, once. Undefined if it was accepted, has ended or is not known. */
    accept: (
      digest: string,
      password_hash: string,
      from: Omit<Operator, 'actor'>,
      actorOf: (name: string) => string,
    ) =>
      database.transaction(async connection => {
        const [login] = await connection.run<CustomerLogin>(
          `UPDATE sluice.customers SET password_hash = ?, invitation = NULL, invited_until_ms = NULL
          WHERE invitation = ? AND invited_until_ms > ? RETURNING ${columns}`,
          [password_hash, digest, from.at_ms],
        );
        if (!login) return undefined;
        const { name, account } = login;
        await recordEntry(
          connection,
          { ...from, actor: actorOf(name) },
          { action: 'customer.accept', target: account, detail: { customer: name } },
        );
        return login;
      }),

    /** Changes a password; false if it was changed meanwhile. An invitation that is open ends. */
    changePassword: (
      { name, account, password_hash: before }: CustomerLogin,
      password_hash: string,
      operator: Operator,
    ): Promise<boolean> =>
      database.transaction(async connection => {
        const changed = await connection.run(
          `UPDATE sluice.customers SET password_hash = ?, invitation = NULL, invited_until_ms = NULL
          WHERE folded = ? AND account = ? AND password_hash = ? RETURNING name`,
          [password_hash, folded(name), account, before],
        );
        if (changed.length === 0) return false;
        await recordEntry(connection, operator, {
          action: 'customer.password',
          target: account,
          detail: { customer: name },
        });
        return true;
      }),

    /** Removes a sign-in of an account, with its sessions at all instances. */
    remove: (
      { name, account }: Pick<CustomerLogin, 'name' | 'account'>,
      operator: Operator,
      check?: CustomerCheck,
    ) =>
      database.transaction(async connection => {
        if (check) check(await locked(connection, name, account));
        const removed = await connection.run<{ name: string }>(
          'DELETE FROM sluice.customers WHERE folded = ? AND account = ? RETURNING name',
          [folded(name), account],
        );
        if (removed.length === 0) return;
        await connection.run('DELETE FROM sluice.sessions WHERE account = ? AND actor = ?', [
          account,
          removed[0]!.name,
        ]);
        await recordEntry(connection, operator, {
          action: 'customer.remove',
          target: account,
          detail: { customer: removed[0]!.name },
        });
      }),
  };
};
