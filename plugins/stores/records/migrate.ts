import {
  type Connection,
  type Database,
  databaseCode,
  type Log,
  StoreUnavailable,
} from '../../../src/store-plugin.ts';
import { type Migration, migrations } from './migrations.ts';

/** Any number, the same in every version: `sluice` in hexadecimal. */
const lock = 0x736c75696365;
/** SQLSTATE of a lock that another has held for too long. */
const lock_not_available = '55P03';
const insufficient_privilege = '42501';

export interface MigrateOptions {
  readonly steps?: readonly Migration[];
  /** Logs each migration and its duration. */
  readonly log?: Pick<Log, 'info'> | undefined;
}

/**
 * Brings the schema up to date, version by version, each in a transaction without time limits: after a kill the next process resumes behind
 * the finished versions. Of several instances that start at once one migrates, and the others find it done. Throws when the database is of
 * a newer version than this one knows, or of one from before the first release, and when the schema `sluice` may not be created in Postgres.
 */
export async function migrate(
  database: Database,
  isPostgres: boolean,
  epoch_ms: number,
  { steps = migrations, log }: MigrateOptions = {},
): Promise<void> {
  /** Takes the schema to its next version; false where there is none. */
  const migrateOnce = async (connection: Connection): Promise<boolean> => {
    // SQLite's transactions have the whole database to themselves.
    if (isPostgres) {
      await takeLock(connection);
      await ensureSchema(connection);
    }
    const next = nextStep(await currentVersion(connection), steps);
    if (!next) return false;
    const { version, name, statements } = next;
    const began_ms = performance.now();
    log?.info({ version, migration: name }, 'migrating the records store');
    for (const statement of statements)
      await (typeof statement === 'string'
        ? connection.run(statement)
        : statement(connection, isPostgres, epoch_ms));
    await connection.insert('sluice.schema_migrations', [{ version, name, applied_ms: epoch_ms }]);
    const elapsed_ms = Math.round(performance.now() - began_ms);
    log?.info({ version, migration: name, elapsed_ms }, 'migrated the records store');
    return true;
  };
  while (await database.longTransaction(migrateOnce));
}

/** Waits for seconds for another instance that migrates. */
async function takeLock(connection: Connection): Promise<void> {
  try {
    await connection.run(`SELECT pg_advisory_xact_lock(${lock})`);
  } catch (thrown) {
    if (databaseCode(thrown) !== lock_not_available) throw thrown;
    throw new StoreUnavailable('another instance is migrating it', { cause: thrown });
  }
}

/** Creates the schema of our own, in which no name can clash with the tables of an application. */
async function ensureSchema(connection: Connection): Promise<void> {
  const [found] = await connection.run("SELECT 1 AS found FROM pg_namespace WHERE nspname = 'sluice'");
  if (found) return;
  const [early] = await connection.run<{ name: string }>(
    `SELECT table_schema AS name FROM information_schema.tables
    WHERE table_name IN ('change_counter', 'counted_batches') GROUP BY 1 HAVING COUNT(*) = 2`,
  );
  if (early)
    throw new Error(
      `the records store has its tables in the schema ${early.name}, from before the first release, which cannot be upgraded: set a new store`,
    );
  try {
    await connection.run('CREATE SCHEMA sluice');
  } catch (thrown) {
    if (databaseCode(thrown) !== insufficient_privilege) throw thrown;
    throw new Error(
      'it has no schema sluice, and this role may not create it: CREATE SCHEMA sluice AUTHORIZATION the role',
      { cause: thrown },
    );
  }
}

async function currentVersion(connection: Connection): Promise<number> {
  await connection.run(
    'CREATE TABLE IF NOT EXISTS sluice.schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_ms BIGINT NOT NULL)',
  );
  const [row] = await connection.run<{ version: number | null }>(
    'SELECT MAX(version) AS version FROM sluice.schema_migrations',
  );
  return row?.version ?? 0;
}

function nextStep(current: number, steps: readonly Migration[]): Migration | undefined {
  const [first = 0, known = 0] = [steps[0]?.version, steps.at(-1)?.version];
  const found = `the records store has schema version ${current}`;
  if (current > known) throw new Error(`${found}, this sluice knows ${known}: start a newer one`);
  if (current > 0 && current < first)
    throw new Error(`${found}, from before the first release, which cannot be upgraded: set a new store`);
  return steps.find(({ version }) => version > current);
}
