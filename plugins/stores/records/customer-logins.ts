import {
  type Connection,
  type CustomerLogin,
  type CustomerLogins,
  type Database,
  max_customers,
  NameTaken,
} from '../../../src/store-plugin.ts';
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
    list: account =>
      database.run<CustomerLogin>(
        `SELECT ${columns} FROM sluice.customers WHERE account = ? ORDER BY folded LIMIT ?`,
        [account, max_customers],
      ),

    find: name => one('folded = ?', [folded(name)]),

    invited: (digest, at_ms) => one('invitation = ? AND invited_until_ms > ?', [digest, at_ms]),

    invite: ({ name, account, digest, until_ms }, operator, check) =>
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

    accept: (digest, password_hash, from, actorOf) =>
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

    changePassword: ({ name, account, password_hash: before }, password_hash, operator) =>
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

    remove: ({ name, account }, operator, check) =>
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
