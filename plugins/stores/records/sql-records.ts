import type { Database, RecordsStore } from '../../../src/store-plugin.ts';
import { accountRecords } from './account-records.ts';
import { adminKeys } from './admin-keys.ts';
import { auditLog } from './audit-log.ts';
import { changeFeed } from './change-feed.ts';
import { customerLogins } from './customer-logins.ts';
import { idempotentRequests } from './idempotent-requests.ts';
import { keyRecords } from './key-records.ts';
import { ledgerMonths } from './ledger-months.ts';
import { ledgerRecords } from './ledger-records.ts';
import { migrate } from './migrate.ts';
import type { NewestRows } from './newest-rows.ts';
import { noticeRecords } from './notice-records.ts';
import { providerControls } from './provider-controls.ts';
import { pruning } from './pruning.ts';
import { sessionRecords } from './session-records.ts';
import { storedResponses } from './stored-responses.ts';
import { trafficRecords } from './traffic-records.ts';
import { usageRecords } from './usage-records.ts';

interface Options {
  readonly isPostgres?: boolean;
  /** Where new rows of the ledger go in place of their tables. */
  readonly newest?: NewestRows;
  /** Content of stored responses that is kept. */
  readonly max_response_bytes?: number;
}

/** A records store in a database that speaks the SQL of SQLite or of Postgres: one schema and one SQL for both. */
export function sqlRecords(
  database: Database,
  { isPostgres = false, newest, max_response_bytes }: Options = {},
): RecordsStore {
  const months = isPostgres ? ledgerMonths(database) : undefined;
  return {
    database,
    accounts: accountRecords(database),
    keys: keyRecords(database),
    ledger: ledgerRecords(database, newest),
    usage: usageRecords(database),
    traffic: trafficRecords(database),
    audit: auditLog(database),
    sessions: sessionRecords(database),
    customers: customerLogins(database),
    adminKeys: adminKeys(database),
    requests: idempotentRequests(database),
    responses: storedResponses(database, max_response_bytes),
    notices: noticeRecords(database),
    controls: providerControls(database),
    changes: changeFeed(database),
    pruning: pruning(database, months),
    migrate: (epoch_ms, log) => migrate(database, isPostgres, epoch_ms, { log }),
    close: () => database.close(),
  };
}
