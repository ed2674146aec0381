import type { Clock } from '../clock.ts';
import type { Log } from '../telemetry/log.ts';
import type { RecordsMetrics } from '../telemetry/records-metrics.ts';
import { type AccountDirectory, type ConfiguredAccounts, eitherDirectory } from './accounts.ts';
import { DiskQueue } from './ledger/disk-queue.ts';
import { Ledger } from './ledger/ledger.ts';
import type { Outage } from './outage.ts';
import { kept_in_memory, type RecordsStore } from './records/records-store.ts';
import type { RecordsTarget } from './records/records-target.ts';
import { startRecords } from './records/start-records.ts';
import { StoredKeys } from './stored-keys.ts';

/** Where a gateway keeps its records. */
export interface RecordsSettings {
  readonly target: RecordsTarget;
  readonly known_keys_ms: number;
  /** Where rows of the ledger wait while the store is out. */
  readonly queue_path: string;
  readonly queue_rows: number;
}

export interface GatewayRecordsSetup {
  readonly settings: RecordsSettings;
  readonly configured: ConfiguredAccounts;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: RecordsMetrics;
}

/** A gateway's part in the records: whose a key is, and the ledger. */
export interface GatewayRecords {
  readonly store: RecordsStore;
  /** Keys of the configuration, and those of the store. */
  readonly accounts: AccountDirectory;
  readonly ledger: Ledger;
  /** There while the store does not answer. */
  readonly outage: Outage | undefined;
  /** Takes over what has just been changed here, so that it holds at once at this instance. */
  refresh(): Promise<void>;
  /** Writes what has not been written, and ends everything. */
  close(): Promise<void>;
}

/** Opens the store and begins to use it. Throws for a store that cannot be used; one that is out is waited for. */
export async function startGatewayRecords(setup: GatewayRecordsSetup): Promise<GatewayRecords> {
  const { settings, configured, clock, log, metrics } = setup;
  const { store, close } = await startRecords(settings.target, clock, log);
  const inMemory = settings.target.kind === 'memory';
  const disk = inMemory ? undefined : new DiskQueue(settings.queue_path, settings.queue_rows);
  const options = inMemory ? inMemoryOptions : {};
  const ledger = new Ledger({ records: store.ledger, disk, metrics, log, options });
  const keys = storedKeys(setup, store);
  if (inMemory)
    log.info(
      `records are kept in memory: keys that are issued and the ledger end with the process, of which the ledger has the last ${kept_in_memory} exchanges; set stores.records to keep more`,
    );
  ledger.start();
  keys.start();
  return {
    store,
    accounts: eitherDirectory(configured, keys),
    ledger,
    get outage() {
      return keys.outage;
    },
    refresh: () => keys.refresh(),
    close: async () => {
      await Promise.all([ledger.close(), keys.close()]);
      await close();
    },
  };
}

/** Nothing there can be out, and only the newest rows are kept: rare large batches are cheapest. */
const inMemoryOptions = { flush_ms: 2000, batch_rows: 10_000 };

function storedKeys({ settings, configured, clock, log, metrics }: GatewayRecordsSetup, store: RecordsStore) {
  const { keys, changes } = store;
  return new StoredKeys({
    keys: {
      lookUp: digests => metrics.timed('key_lookup', () => keys.lookUp(digests)),
      used: times => keys.used(times),
    },
    changes: { since: since => metrics.timed('changes', () => changes.since(since)) },
    configured: id => configured.named(id),
    known_keys_ms: settings.known_keys_ms,
    clock,
    log,
  });
}
