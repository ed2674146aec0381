import { channelDatabase } from '../../../src/mount/records/channel-database.ts';
import { checkPool, openPostgres, openPostgresPool } from '../postgres/postgres.ts';
import { openSqlite, sqliteInMemory } from '../sqlite/sqlite.ts';
import { accountRecords } from './account-records.ts';
import { auditLog } from './audit-log.ts';
import { changeFeed } from './change-feed.ts';
import { customerLogins } from './customer-logins.ts';
import type { Database } from './database.ts';
import { keyRecords } from './key-records.ts';
import { ledgerMonths } from './ledger-months.ts';
import { ledgerRecords } from './ledger-records.ts';
import { type MigrateOptions, migrate } from './migrate.ts';
import { NewestRows } from './newest-rows.ts';
import { pruning } from './pruning.ts';
import { isPostgres, type RecordsTarget } from './records-target.ts';
import { sessionRecords } from './session-records.ts';
import { trafficRecords } from './traffic-records.ts';
import { usageRecords } from './usage-records.ts';

/** How many exchanges the ledger of a gateway without a records store keeps. */
export const kept_in_memory = 1000;

/**
 * Accounts, keys and the usage ledger: one schema and one SQL, on SQLite or Postgres. Every method rejects with StoreUnavailable when
 * the database is down, within seconds.
 */
export type RecordsStore = Awaited<ReturnType<typeof openRecords>>;

/**
 * Opens the store without asking anything of it yet. Rejects with StoreUnavailable for a SQLite file that cannot be opened, and
 * for Postgres without the package `pg`.
 */
export async function openRecords(target: RecordsTarget, onLost: (error: Error) => void = () => {}) {
  const opened = await databaseOf(target, onLost);
  const newest = target.kind === 'memory' ? new NewestRows(opened, kept_in_memory) : undefined;
  const database = newest?.database ?? opened;
  const months = isPostgres(target) ? ledgerMonths(database) : undefined;
  return {
    /** Where all of them are. */
    database,
    accounts: accountRecords(database),
    keys: keyRecords(database),
    ledger: ledgerRecords(database, newest),
    usage: usageRecords(database),
    traffic: trafficRecords(database),
    audit: auditLog(database),
    sessions: sessionRecords(database),
    customers: customerLogins(database),
    changes: changeFeed(database),
    /** Undefined in SQLite, which has one table for all. */
    months,
    pruning: pruning(database, months),
    /** Migrates the schema to the newest version and logs the progress. Call it before anything else; safe to call again. */
    async migrate(epoch_ms: number, log?: MigrateOptions['log']): Promise<void> {
      // The primary has done it before it started its workers.
      if (target.kind === 'channel') return;
      if (target.kind === 'pool') await checkPool(database);
      await migrate(database, isPostgres(target), epoch_ms, { log });
    },
    /** Ends connections and threads. */
    close: () => database.close(),
  };
}

async function databaseOf(target: RecordsTarget, onLost: (error: Error) => void): Promise<Database> {
  if (target.kind === 'memory') return sqliteInMemory();
  if (target.kind === 'sqlite') return openSqlite(target.path);
  if (target.kind === 'pool') return openPostgresPool(target.pool, onLost);
  if (target.kind === 'channel') return channelDatabase(target.channel);
  return openPostgres(target.url, onLost);
}
