import { handleWhen, retry } from 'cockatiel';
import type pg from 'pg';
import {
  type Connection,
  type Database,
  databaseCode,
  RecordRefused,
  StoreUnavailable,
  type Value,
} from './database.ts';

/** Time limits of connecting and of a statement; then the connection is cut, since a server that hangs would keep it for ever. */
const connect_ms = 2000;
const default_statement_ms = 5000;
/** What one gateway takes of the server's connections: the ledger's, the lookup of keys, reports. */
const max_connections = 4;

/** SQLSTATE classes of values that will never be taken: data exceptions, constraints. */
const refusals = /^(22|23)/;
/** SQLSTATE of two transactions in each other's way; the same succeeds when tried again. */
const collisions = /^40(001|P01)$/;
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

/** A Postgres database, through a few connections that are made when they are needed. `onIdleError` is called when an idle one is lost. */
export async function openPostgres(
  url: string,
  onIdleError: (error: Error) => void,
  statement_ms = default_statement_ms,
): Promise<Database> {
  // Loaded only where it is used.
  const { default: driver } = await import('pg');
  const pool = new driver.Pool({
    connectionString: url,
    application_name: 'sluice',
    max: max_connections,
    connectionTimeoutMillis: connect_ms,
    idleTimeoutMillis: 30_000,
    query_timeout: statement_ms,
    keepAlive: true,
    types: { getTypeParser: integerParser(driver) },
  });
  pool.on('error', onIdleError);
  const transaction = <T>(begin: string, work: Work<T>, time_limit_ms?: number): Promise<T> =>
    collisionRetry.execute(() =>
      connected(pool, client => transactionOn(client, begin, work, time_limit_ms)),
    );
  const limited = begin(statement_ms, statement_ms, statement_ms);
  const unlimited = begin(0, migration_idle_ms, statement_ms);
  return {
    run: (sql, values) => connected(pool, client => statement(client, sql, values)),
    transaction: work => transaction(limited, work),
    longTransaction: work => transaction(unlimited, work, unlimited_ms),
    close: async () => {
      if (!pool.ending) await pool.end();
    },
  };
}

type Work<T> = (connection: Connection) => Promise<T>;

async function connected<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch(unavailable);
  let broken = false;
  // The pool listens only to idle connections; one that is lost between two statements would end the process.
  client.on('error', lost);
  try {
    return await work(client);
  } catch (thrown) {
    // Whatever else failed, an answer may still be under way on this connection.
    broken = thrown instanceof StoreUnavailable && !isCollision(thrown);
    throw thrown;
  } finally {
    client.off('error', lost);
    client.release(broken);
  }
}

/** The next statement on a lost connection fails and is reported; the event adds nothing. */
const lost = (): void => {};

async function transactionOn<T>(
  client: pg.PoolClient,
  begin: string,
  work: Work<T>,
  time_limit_ms?: number,
): Promise<T> {
  // Until then a limit of the database's or the role's own holds, which may be short enough to end even this.
  await cancelRetry.execute(() =>
    statement(client, begin, [], default_statement_ms).catch(async thrown => {
      if (isCanceled(thrown)) await rollBack(client);
      throw thrown;
    }),
  );
  try {
    const done = await work({ run: (sql, values) => statement(client, sql, values, time_limit_ms) });
    await statement(client, 'COMMIT', [], time_limit_ms);
    return done;
  } catch (thrown) {
    await rollBack(client);
    throw thrown;
  }
}

const rollBack = (client: pg.PoolClient) => client.query('ROLLBACK').catch(() => {});

/** `time_limit_ms` in place of the connection's own. */
async function statement<R>(
  client: pg.PoolClient,
  sql: string,
  values: readonly Value[] = [],
  time_limit_ms?: number,
): Promise<R[]> {
  let number = 0;
  const text = sql.replaceAll('?', () => `$${++number}`);
  const query = { text, values: [...values], ...(time_limit_ms && { query_timeout: time_limit_ms }) };
  try {
    return (await client.query(query)).rows as R[];
  } catch (thrown) {
    return unavailable(thrown);
  }
}

function unavailable(thrown: unknown): never {
  const { code = '', message } = thrown as { code?: string; message: string };
  if (refusals.test(code)) throw new RecordRefused(message);
  throw new StoreUnavailable(message, { cause: thrown });
}

/** int8 and numeric, of which pg makes texts, as numbers where they fit and bigints where not. */
function integerParser(driver: typeof pg): pg.CustomTypesConfig['getTypeParser'] {
  const { builtins, getTypeParser } = driver.types;
  const integer = (text: string): number | bigint | string => {
    if (!/^-?\d+$/.test(text)) return text;
    const number = Number(text);
    return Number.isSafeInteger(number) ? number : BigInt(text);
  };
  return ((oid: number, format?: 'text') =>
    oid === builtins.INT8 || oid === builtins.NUMERIC
      ? integer
      : getTypeParser(oid, format)) as pg.CustomTypesConfig['getTypeParser'];
}
