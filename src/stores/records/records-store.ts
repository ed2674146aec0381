import { AccountRecords } from './account-records.ts';
import { AuditLog } from './audit-log.ts';
import { ChangeFeed } from './change-feed.ts';
import type { Database } from './database.ts';
import { KeyRecords } from './key-records.ts';
import { LedgerRecords } from './ledger-records.ts';
import { type MigrateOptions, migrate } from './migrate.ts';
import { PostgresDatabase } from './postgres.ts';
import { Pruning } from './pruning.ts';
import type { RecordsTarget } from './records-target.ts';
import { SqliteDatabase } from './sqlite.ts';
import { UsageRecords } from './usage-records.ts';

/** How many exchanges the ledger of a gateway without a records store keeps. */
export const kept_in_memory = 1000;

/**
 * Accounts, keys and the usage ledger: one schema and one SQL, on SQLite or Postgres. Every method rejects with StoreUnavailable when
 * the database is out, within seconds.
 */
export interface RecordsStore {
  readonly accounts: AccountRecords;
  readonly keys: KeyRecords;
  readonly ledger: LedgerRecords;
  readonly usage: UsageRecords;
  readonly audit: AuditLog;
  readonly changes: ChangeFeed;
  readonly pruning: Pruning;
  /** Migrates the schema to the newest version and logs the progress. Call it before anything else; safe to call again. */
  migrate(epoch_ms: number, log?: MigrateOptions['log']): Promise<void>;
  /** Ends connections and threads. */
  close(): Promise<void>;
}

/** Opens the store without asking anything of it yet. Rejects with StoreUnavailable for a SQLite file that cannot be opened. */
export async function openRecords(
  target: RecordsTarget,
  onLost: (error: Error) => void = () => {},
): Promise<RecordsStore> {
  const database = await databaseOf(target, onLost);
  return {
    accounts: new AccountRecords(database),
    keys: new KeyRecords(database),
    ledger: new LedgerRecords(database, target.kind === 'memory' ? kept_in_memory : undefined),
    usage: new UsageRecords(database),
    audit: new AuditLog(database),
    changes: new ChangeFeed(database),
    pruning: new Pruning(database, target.kind === 'postgres'),
    migrate: (epoch_ms, log) => migrate(database, target.kind === 'postgres', epoch_ms, { log }),
    close: () => database.close(),
  };
}

function databaseOf(target: RecordsTarget, onLost: (error: Error) => void): Promise<Database> {
  switch (target.kind) {
    case 'memory':
      return Promise.resolve(SqliteDatabase.inMemory());
    case 'sqlite':
      return SqliteDatabase.open(target.path);
    case 'postgres':
      return PostgresDatabase.open(target.url, onLost);
  }
}
