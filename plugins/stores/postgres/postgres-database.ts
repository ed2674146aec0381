import { handleWhen, retry } from 'cockatiel';
import {
  type Connection,
  type Database,
  databaseCode,
  isOutage,
  type PostgresClient,
  type PostgresPool,
  RecordRefused,
  type Row,
  rowMarks,
  StoreUnavailable,
  type Value,
  within,
} from '../../../src/store-plugin.ts';
import { types } from './column-types.ts';

/** Time limit of a statement; then the connection is cut, since a server that hangs would keep it for ever. */
export const default_statement_ms = 5000;
/** Values in one statement: fewer than the 65,535 that Postgres takes. */
const max_values = 30_000;
/** How long a transaction may take to be rolled back; then its connection is closed. */
const rollback_ms = 1000;

/** SQLSTATE classes of values that will never be taken: data exceptions, constraints. */
const refusals = /^(22|23(?!514))/;
/**
 * SQLSTATE of two transactions in each other's way; the same succeeds when tried again. One is that of a row of the ledger whose month was
 * created while it was written among those without a month.
 */
const collisions = /^(40001|40P01|23514)$/;
/** SQLSTATE of a statement that took longer than it may. */
const query_canceled = '57014';

const isCollision = (thrown: unknown): boolean => collisions.test(`${databaseCode(thrown)}`);
const isCanceled = (thrown: unknown): boolean => databaseCode(thrown) === query_canceled;
const collisionRetry = retry(handleWhen(isCollision), { maxAttempts: 4 });
const cancelRetry = retry(handleWhen(isCanceled), { maxAttempts: 4 });

/** How long a migration's connection waits for an answer: as long as a timer can. */
const unlimited_ms = 2_147_483_647;
/** How long a migration may do nothing, in a process that hangs. */
const migration_idle_ms = 60_000;

/**
 * The server's own limits, so that an instance that hangs does not hold locks that others wait for. Set in each transaction and not at
 * the start of a connection, which connection poolers refuse.
 */
const begin = (statement_ms: number, idle_ms: number, lock_ms: number): string =>
  `BEGIN; SET LOCAL statement_timeout = ${statement_ms}; SET LOCAL lock_timeout = ${lock_ms};
  SET LOCAL idle_in_transaction_session_timeout = ${idle_ms}`;

interface PoolAccess {
  readonly pool: PostgresPool;
  /** How long a free connection is waited for. */
  readonly connect_ms: number;
  readonly statement_ms: number;
}

/** A database through the connections of a pool. */
export function databaseOn(access: PoolAccess, close: () => Promise<void>): Database {
  const { statement_ms } = access;
  const transaction = <T>(begin: string, work: Work<T>, limit_ms: number): Promise<T> =>
    collisionRetry.execute(() => connected(access, client => transactionOn(client, begin, work, limit_ms)));
  const limited = begin(statement_ms, statement_ms, statement_ms);
  const unlimited = begin(0, migration_idle_ms, statement_ms);
  return {
    insert: (table, rows, end) =>
      transaction(limited, connection => connection.insert(table, rows, end), statement_ms),
    run: async <R extends object>(sql: string, values?: readonly Value[]) => {
      try {
        return await connected(access, client => statement<R>(client, sql, values, statement_ms));
      } catch (thrown) {
        if (!isCanceled(thrown)) throw thrown;
        // The pool, its role or its database has a shorter limit; in a transaction ours holds.
        return transaction(limited, connection => connection.run<R>(sql, values), statement_ms);
      }
    },
    transaction: work => transaction(limited, work, statement_ms),
    longTransaction: work => transaction(unlimited, work, unlimited_ms),
    close,
  };
}

type Work<T> = (connection: Connection) => Promise<T>;

async function connected<T>(access: PoolAccess, work: (client: PostgresClient) => Promise<T>): Promise<T> {
  const client = await connection(access);
  let broken = false;
  // The pool listens only to idle connections; one that is lost between two statements would end the process.
  client.on?.('error', lost);
  try {
    return await work(client);
  } catch (thrown) {
    // Whatever else failed, an answer may still be under way on this connection.
    broken = thrown instanceof StoreUnavailable && !isCollision(thrown);
    throw thrown;
  } finally {
    client.off?.('error', lost);
    client.release(broken);
  }
}

/** A connection of the pool. One that comes too late goes back at once. */
async function connection({ pool, connect_ms }: PoolAccess): Promise<PostgresClient> {
  try {
    const connecting = pool.connect();
    return await within(connecting, connect_ms, () => {
      connecting.then(client => client.release()).catch(lost);
      return new Error(`no connection was free within ${connect_ms} ms`);
    });
  } catch (thrown) {
    return unavailable(thrown);
  }
}

/** The next statement on a lost connection fails and is reported; the event adds nothing. */
const lost = (): void => {};

async function transactionOn<T>(
  client: PostgresClient,
  begin: string,
  work: Work<T>,
  limit_ms: number,
): Promise<T> {
  // Until then a limit of the database's or the role's own holds, which may be short enough to end even this.
  await cancelRetry.execute(() =>
    statement(client, begin, [], default_statement_ms).catch(async thrown => {
      if (isCanceled(thrown)) await rollBack(client);
      throw thrown;
    }),
  );
  try {
    const run = <R extends object>(sql: string, values?: readonly Value[]) =>
      statement<R>(client, sql, values, limit_ms);
    const done = await work({ run, insert: (table, rows, end) => inserted(run, table, rows, end) });
    await statement(client, 'COMMIT', [], limit_ms);
    return done;
  } catch (thrown) {
    await rollBack(client).catch(failed => {
      // The connection is closed for either.
      if (!isOutage(thrown) || isCollision(thrown)) throw failed;
    });
    throw thrown;
  }
}

/** Inserts rows in as few statements as take them. */
async function inserted<R extends object>(
  run: <T extends object>(sql: string, values: readonly Value[]) => Promise<T[]>,
  table: string,
  rows: readonly Row[],
  end = '',
): Promise<R[]> {
  const columns = Object.keys(rows[0]!);
  const rows_per_statement = Math.floor(max_values / columns.length);
  const returned: R[] = [];
  for (let at = 0; at < rows.length; at += rows_per_statement) {
    const some = rows.slice(at, at + rows_per_statement);
    const marks = rowMarks(some.length, columns.length);
    const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${marks} ${end}`;
    for (const row of await run<R>(sql, some.flatMap(Object.values))) returned.push(row);
  }
  return returned;
}

/** Throws StoreUnavailable when the connection cannot be used for another transaction. */
const rollBack = (client: PostgresClient) => statement(client, 'ROLLBACK', [], rollback_ms);

async function statement<R>(
  client: PostgresClient,
  sql: string,
  values: readonly Value[] = [],
  limit_ms: number,
): Promise<R[]> {
  let number = 0;
  const text = sql.replaceAll('?', () => `$${++number}`);
  try {
    const query = client.query({ text, values: [...values], types, query_timeout: limit_ms });
    return (await within(query, limit_ms, () => new Error(`no answer within ${limit_ms} ms`))).rows as R[];
  } catch (thrown) {
    return unavailable(thrown);
  }
}

function unavailable(thrown: unknown): never {
  const { code = '', message = String(thrown) } = Object(thrown) as { code?: string; message?: string };
  if (refusals.test(`${code}`)) throw new RecordRefused(message);
  throw new StoreUnavailable(message, { cause: thrown });
}
