import type { AccountDirectory, AccountsConfig, ConfiguredAccounts } from '../accounts/accounts.ts';
import { hashKey } from '../accounts/hash-key.ts';
import { StoredKeys } from '../accounts/stored-keys.ts';
import { checkQueueFile } from '../ledger/check-queue-file.ts';
import { DiskQueue } from '../ledger/disk-queue.ts';
import { Ledger } from '../ledger/ledger.ts';
import { pastUsage } from '../ledger/past-usage.ts';
import { endedWithin } from '../within.ts';
import { warnOfSharedFiles } from './private-file.ts';
import type { RecordsSettings } from './records-options.ts';
import { kept_in_memory, type RecordsStore } from './records-store.ts';
import { Retention } from './retention.ts';
import { startRecords } from './start-records.ts';
import type { Surroundings } from './surroundings.ts';

/** How long closing the keys may take, and closing the store. */
const close_ms = 5000;

export interface GatewayRecordsSetup extends Surroundings {
  readonly settings: RecordsSettings;
  readonly configured: ConfiguredAccounts;
}

/** The records as a gateway uses them: accounts of keys, and the ledger. */
export type GatewayRecords = Awaited<ReturnType<typeof startGatewayRecords>>;

/** In memory writes never fail and only the newest rows are kept: rare large batches are cheapest. */
const inMemoryOptions = { flush_ms: 2000, batch_rows: 10_000 };

/** Opens the store. Throws for a store that cannot be used; one that is down is retried. */
export async function startGatewayRecords(setup: GatewayRecordsSetup) {
  const { settings, configured, clock, log, metrics } = setup;
  const { target, queue_path, retention: times } = settings;
  const inMemory = target.kind === 'memory';
  const store = await startRecords(target, clock, log);
  if (inMemory)
    log.info(
      `records are in memory and are lost on exit: issued keys, and the ledger of the last ${kept_in_memory} exchanges; set stores.records to keep them`,
    );
  else {
    await checkQueueFile(queue_path, log).catch(async thrown => {
      await store.close();
      throw thrown;
    });
    warnOfSharedFiles(queue_path, log);
  }
  const disk = inMemory ? undefined : new DiskQueue(queue_path, settings.queue_rows);
  const options = inMemory ? inMemoryOptions : {};
  const ledger = new Ledger({ records: store.ledger, disk, clock, metrics, log, options });
  const keys = storedKeys(setup, store);
  // In memory nothing else runs during a step.
  const rows_per_step = inMemory ? 50 : 500;
  const { pruning, months } = store;
  const retention = new Retention({ pruning, months, times, rows_per_step, clock, log, metrics });
  const accounts: AccountDirectory = {
    find: (key, digest = hashKey(key)) => configured.find(key, digest) ?? keys.find(key, digest),
    findById: id => configured.findById(id) ?? keys.findById(id),
    // One of the configuration cannot be disabled.
    isDisabled: id => keys.isDisabled(id) && configured.findById(id) === undefined,
  };
  const usage: Pick<RecordsStore['usage'], 'budgets' | 'budgetsOfKeys'> = {
    budgets: (ids, day) => metrics.timed('past_usage', () => store.usage.budgets(ids, day)),
    budgetsOfKeys: (ids, day) => metrics.timed('past_usage', () => store.usage.budgetsOfKeys(ids, day)),
  };
  ledger.start();
  keys.start();
  void retention.start();
  return {
    store,
    /** Keys and accounts of the configuration, and those of the store. */
    accounts,
    ledger,
    /** Use of accounts before this process started; undefined where records are in memory. */
    past: inMemory ? undefined : pastUsage({ usage, disk, clock }),
    /** Set while the store does not answer. */
    get outage() {
      return keys.outage;
    },
    /** Serves these accounts and keys of the configuration, in place of those before, from now on. */
    configure: (given: AccountsConfig) => keys.configuredAnew(configured.replace(given)),
    /** Applies changes made by this instance at once. */
    refresh: () => keys.refresh(),
    /** Writes what has not been written, and ends everything, in 15 seconds at most. Rejects when rows of the ledger are only in the log. */
    close: async () => {
      const others = Promise.all([keys.close(), retention.close()]);
      const [lost] = await Promise.all([ledger.close(), endedWithin(others, close_ms)]);
      await endedWithin(store.close(), close_ms);
      if (lost > 0)
        throw new Error(
          `${lost} ledger rows could not be written and are in the log, as ledger_row: sluice ledger import LOGFILE enters them`,
        );
    },
  };
}

function storedKeys({ settings, configured, clock, log, metrics }: GatewayRecordsSetup, store: RecordsStore) {
  const { keys, accounts, changes } = store;
  return new StoredKeys({
    keys: {
      lookUp: digests => metrics.timed('key_lookup', () => keys.lookUp(digests)),
      used: times => metrics.timed('key_uses', () => keys.used(times)),
    },
    accounts: {
      lookUp: ids => metrics.timed('account_lookup', () => accounts.lookUp(ids)),
    },
    changes: { since: since => metrics.timed('changes', () => changes.since(since)) },
    configured: id => configured.findById(id),
    key_cache_ttl_ms: settings.key_cache_ttl_ms,
    clock,
    log,
  });
}
