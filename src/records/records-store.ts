import type { Log } from '../telemetry/log.ts';
import type { AccountRecords } from './account-records.ts';
import type { AdminKeyRecords } from './admin-key-records.ts';
import type { AuditLog } from './audit-log.ts';
import type { ChangeFeed } from './change-feed.ts';
import type { CustomerLogins } from './customer-logins.ts';
import type { Database } from './database.ts';
import type { IdempotentRequests } from './idempotent-requests.ts';
import type { KeyRecords } from './key-records.ts';
import type { LedgerRecords } from './ledger-records.ts';
import type { NoticeRecords } from './notice-records.ts';
import type { ProviderControls } from './provider-controls.ts';
import type { Pruning } from './pruning.ts';
import type { SessionRecords } from './session-records.ts';
import type { StoredResponses } from './stored-responses.ts';
import type { TrafficRecords } from './traffic-records.ts';
import type { UsageRecords } from './usage-records.ts';

/** Where the progress of a migration is told. */
export type MigrationLog = Pick<Log, 'info' | 'warn'>;

/**
 * Accounts, keys and the usage ledger. Every method rejects with StoreUnavailable within seconds while the store does not answer, and with
 * RecordRefused for values that it never takes.
 */
export interface RecordsStore {
  /** Accounts. */
  readonly accounts: AccountRecords;
  /** Keys. */
  readonly keys: KeyRecords;
  /** Rows of exchanges. */
  readonly ledger: LedgerRecords;
  /** What they add up to. */
  readonly usage: UsageRecords;
  /** Sums over the last minutes, hours and days. */
  readonly traffic: TrafficRecords;
  /** The operators' changes. */
  readonly audit: AuditLog;
  /** Sessions of people at pages. */
  readonly sessions: SessionRecords;
  /** Sign-ins of customers. */
  readonly customers: CustomerLogins;
  /** Responses that clients continue; a store may do without. */
  readonly responses?: StoredResponses | undefined;
  /** Notices and their deliveries; a store may do without. */
  readonly notices?: NoticeRecords | undefined;
  /** What operators have set of providers; a store may do without, and its operators with it. */
  readonly controls?: ProviderControls | undefined;
  /** Keys of the Admin API; without them it has those of the configuration alone. */
  readonly adminKeys?: AdminKeyRecords | undefined;
  /** Requests that are carried out once; without them the Admin API refuses an idempotency key. */
  readonly requests?: IdempotentRequests | undefined;
  /** What has changed. */
  readonly changes: ChangeFeed;
  /** Deletion of what is old. */
  readonly pruning: Pruning;
  /** Its database, if it has one: workers reach that of a store which is not shared through their primary process. */
  readonly database?: Database | undefined;
  /** Brings the store to the newest version. Called before anything else, and again after a failure. */
  migrate(epoch_ms: number, log?: MigrationLog): Promise<void>;
  /** Ends connections and threads. */
  close(): Promise<void>;
}
