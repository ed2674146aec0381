import type { Log } from '../../telemetry/log.ts';
import { type Connection, type Database, insertRow, StoreUnavailable } from './database.ts';
import { type Migration, migrations } from './migrations.ts';

/** Any number, the same in every version: `sluice` in hexadecimal. */
const lock = 0x736c75696365;
/** SQLSTATE of a lock that another has held for too long. */
const lock_not_available = '55P03';
/** How often a migration says how far it is. */
const report_ms = 5000;

export interface MigrateOptions {
  readonly steps?: readonly Migration[];
  /** Logs what is migrated, its progress and its duration. */
  readonly log?: Pick<Log, 'info'> | undefined;
}

/**
 * Brings the schema up to date, version by version, each in a transaction without limits of time: a process that is killed leaves those that
 * are done, and the next one goes on behind them. Where several instances start at once one of them does it, and the others find it done.
 * Throws when the database is of a newer version than this one knows.
 */
export async function migrate(
  database: Database,
  isPostgres: boolean,
  epoch_ms: number,
  { steps = migrations, log }: MigrateOptions = {},
): Promise<void> {
  const step = (connection: Connection) => nextVersion(connection, { isPostgres, epoch_ms, steps, log });
  while (await database.longTransaction(step));
}

interface Setup extends Required<Pick<MigrateOptions, 'steps'>>, Pick<MigrateOptions, 'log'> {
  readonly isPostgres: boolean;
  readonly epoch_ms: number;
}

/** Takes the schema to its next version; false where there is none. */
async function nextVersion(connection: Connection, setup: Setup): Promise<boolean> {
  const { isPostgres, epoch_ms, steps, log } = setup;
  // SQLite's transactions have the whole database to themselves.
  if (isPostgres) await takeLock(connection);
  await connection.run(
    'CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_ms BIGINT NOT NULL)',
  );
  const [row] = await connection.run<{ version: number | null }>(
    'SELECT MAX(version) AS version FROM schema_migrations',
  );
  const current = row?.version ?? 0;
  const known = steps.at(-1)?.version ?? 0;
  if (current > known) {
    throw new Error(
      `the records store has schema version ${current}, this sluice knows ${known}: start a newer one`,
    );
  }
  const next = steps.find(({ version }) => version > current);
  if (!next) return false;
  const { version, name } = next;
  const report = progressReport({ version, name }, log);
  for (const statement of next.statements) {
    if (typeof statement === 'string') await connection.run(statement);
    else await statement(connection, isPostgres, report.progress);
  }
  await insertRow(connection, 'schema_migrations', { version, name, applied_ms: epoch_ms });
  report.done();
  return true;
}

/** Waits for another instance that migrates, for seconds. */
async function takeLock(connection: Connection): Promise<void> {
  try {
    await connection.run(`SELECT pg_advisory_xact_lock(${lock})`);
  } catch (thrown) {
    const { code } = ((thrown as Error).cause ?? {}) as { code?: string };
    if (code !== lock_not_available) throw thrown;
    throw new StoreUnavailable('another instance is migrating it', { cause: thrown });
  }
}

/** Logs the migration to one version: its beginning, its progress every few seconds, and its end. */
function progressReport(facts: Pick<Migration, 'version' | 'name'>, log: MigrateOptions['log']) {
  const began_ms = performance.now();
  let reported_ms = began_ms;
  const report = (more: object, message: string) =>
    log?.info({ ...facts, ...more, elapsed_ms: Math.round(performance.now() - began_ms) }, message);
  log?.info(facts, 'migrating the records store');
  return {
    progress(done: number, total: number): void {
      const now_ms = performance.now();
      if (now_ms - reported_ms < report_ms) return;
      reported_ms = now_ms;
      report({ done, total }, 'migrating the records store: in progress');
    },
    done: () => report({}, 'migrated the records store'),
  };
}
