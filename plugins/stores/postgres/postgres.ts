import {
  type Database,
  missingPackage,
  type PostgresPool,
  StoreUnavailable,
} from '../../../src/store-plugin.ts';
import { databaseOn, default_statement_ms } from './postgres-database.ts';

/** How long a connection to the server may take. */
const connect_ms = 2000;
/** The same for a pool of the application, whose connections may all be at work. */
const pool_connect_ms = 5000;
/** What one gateway takes of the server's connections: the ledger's, the lookup of keys, reports. */
const max_connections = 4;

/** A Postgres database, through a few connections that are made when they are needed. `onIdleError` is called when an idle one is lost. */
export async function openPostgres(
  url: string,
  onIdleError: (error: Error) => void,
  statement_ms = default_statement_ms,
): Promise<Database> {
  const { default: driver } = await import('pg').catch(cause => {
    throw new StoreUnavailable(missingPackage('pg', cause), { cause });
  });
  const pool = new driver.Pool({
    connectionString: url,
    application_name: 'sluice',
    max: max_connections,
    connectionTimeoutMillis: connect_ms,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
  });
  pool.on('error', onIdleError);
  const close = async () => {
    if (!pool.ending) await pool.end();
  };
  return databaseOn({ pool, connect_ms: connect_ms + 1000, statement_ms }, close);
}

/** A Postgres database through a pool of the application, which stays open. Its own settings neither change nor apply here. */
export function openPostgresPool(
  pool: PostgresPool,
  onIdleError: (error: Error) => void,
  statement_ms = default_statement_ms,
  connect_ms = pool_connect_ms,
): Database {
  // Connections made here are the pool's when they are idle; without a listener, one that is lost would end the process.
  pool.on?.('error', onIdleError);
  let isClosed = false;
  const open: PostgresPool = {
    connect: () => (isClosed ? Promise.reject(new Error('the records have been closed')) : pool.connect()),
  };
  return databaseOn({ pool: open, connect_ms, statement_ms }, async () => {
    isClosed = true;
    pool.off?.('error', onIdleError);
  });
}

const probe = { number: 9_007_199_254_740_993n, text: '1' };

/** Throws for a pool whose rows would be misread, such as one of pg-native, which ignores the `types` of a query. */
export async function checkPool(database: Database): Promise<void> {
  const sql = 'SELECT CAST(? AS BIGINT) AS number, CAST(? AS TEXT) AS text';
  const [row] = await database.run<{ number: unknown; text: unknown }>(sql, [probe.number, probe.text]);
  if (row?.number !== probe.number || row.text !== probe.text)
    throw new Error(
      'it does not take the `types` of a query, as pools of pg do: give it a pg.Pool of its own',
    );
}
