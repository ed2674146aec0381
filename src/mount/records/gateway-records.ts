import { endedWithin } from '../../common/within.ts';
import type { RecordsSettings } from '../../config/records-options.ts';
import type { AccountDirectory } from '../../gateway/accounts/accounts.ts';
import type { LedgerEntry } from '../../gateway/settlement/ledger-entry.ts';
import type { AccountsConfig, ConfiguredAccounts } from '../../records/configured-accounts.ts';
import type { RecordsPlace } from '../../records/define-records-store.ts';
import { hashKey } from '../../records/key-secret.ts';
import type { RecordsStore } from '../../records/records-store.ts';
import type { Surroundings } from '../../telemetry/surroundings.ts';
import { AppliedControls } from '../controls/applied-controls.ts';
import type { Channel } from '../workers/channel.ts';
import type { Workers } from '../workers/workers.ts';
import { channelDatabase } from './channel-database.ts';
import { serveDatabase } from './serve-database.ts';
import { pastOfWorker, startLedger, startWorkerLedger } from './start-ledger.ts';
import { startRecords } from './start-records.ts';
import { StoredKeys } from './stored-keys.ts';

/** Interval of polling a store that no other program reaches: what changes there is told by who changes it. */
const alone_ms = 2000;
/** How long the first changes are waited for: a store that is down at the start does not prevent it. */
const first_changes_ms = 3000;
/** How long closing the keys may take, and closing the store. */
const close_ms = 5000;

export interface GatewayRecordsSetup extends Surroundings {
  readonly settings: RecordsSettings;
  readonly configured: ConfiguredAccounts;
  /** Of a worker: the process that keeps the ledger, and the records unless they are in Postgres. */
  readonly primary?: Channel | undefined;
  /** Of a primary: the processes that it keeps them for. */
  readonly workers?: Workers | undefined;
}

/** The records as a gateway uses them: accounts of keys, and the ledger. */
export type GatewayRecords = Awaited<ReturnType<typeof startGatewayRecords>>;

/** Opens the store. Throws for a store that cannot be used; one that is down is retried. */
export async function startGatewayRecords(setup: GatewayRecordsSetup) {
  const { configured, settings, clock, log, primary, workers } = setup;
  const { place } = settings;
  const store = await startRecords(primary ? inWorker(place, primary) : place, clock, log);
  const { ledger, past, ...beside } = await (primary
    ? startWorkerLedger(setup, primary)
    : startLedger(setup, store, configured)
  ).catch(async thrown => {
    await store.close();
    throw thrown;
  });
  const controls = new AppliedControls(clock, primary ? undefined : log);
  const keys = storedKeys(setup, store, controls);
  const accounts: AccountDirectory = {
    find: (key, digest = hashKey(key)) => configured.find(key, digest) ?? keys.find(key, digest),
    findById: id => configured.findById(id) ?? keys.findById(id),
    // One of the configuration cannot be disabled.
    isDisabled: id => keys.isDisabled(id) && configured.findById(id) === undefined,
  };
  await endedWithin(keys.start(), first_changes_ms);
  if (!controls.areKnown && store.controls && !primary)
    log.warn(
      'controls of providers are not known yet: providers are as configured until the records store answers',
    );
  primary?.handle('records.changed', () => void keys.refresh());
  workers?.serve(channel => {
    if (store.database && !place.isShared) serveDatabase(channel, store.database);
    channel.handle('ledger.take', rows => ledger.take(JSON.parse(rows as string) as readonly LedgerEntry[]));
    channel.handle('records.changed', () => {
      workers.notify('records.changed', undefined, channel);
      void keys.refresh();
    });
  });
  return {
    store,
    /** Keys and accounts of the configuration, and those of the store. */
    accounts,
    configured,
    ledger,
    /** What operators have set of providers. */
    controls,
    /** Use of accounts before this process started; undefined where records are in memory. In a worker without what waits on disk. */
    past: primary ? pastOfWorker(store, configured, setup) : past,
    /** Set while the store does not answer. */
    get outage() {
      return keys.outage;
    },
    /** Serves these accounts and keys of the configuration, in place of those before, from now on. */
    configure: (given: AccountsConfig) => keys.configuredAnew(configured.replace(given)),
    /** Applies changes made by this instance at once, in all its processes. */
    refresh: () => {
      primary?.notify('records.changed');
      workers?.notify('records.changed');
      return keys.refresh();
    },
    /** Writes what has not been written, and ends everything, in 15 seconds at most. Rejects when rows of the ledger are only in the log. */
    close: async () => {
      controls.close();
      const others = Promise.all([keys.close(), beside.close()]);
      const [lost] = await Promise.all([ledger.close(), endedWithin(others, close_ms)]);
      await endedWithin(store.close(), close_ms);
      if (lost > 0)
        throw new Error(
          `${lost} ledger rows could not be written and are in the log, as ledger_row: sluice ledger import LOGFILE enters them`,
        );
    },
  };
}

/** The place as a worker opens it: through its primary process, unless all processes may open it. */
function inWorker(place: RecordsPlace, primary: Channel): RecordsPlace {
  if (place.isShared) return place;
  const over = place.over?.bind(place);
  if (!over) throw new Error(`${place.name} can be opened by one process alone: set server.workers: 1`);
  const { file: _, ...rest } = place;
  return {
    ...rest,
    name: 'the records of the primary process',
    open: async () => over(channelDatabase(primary)),
  };
}

function storedKeys(
  { settings, configured, clock, log, metrics }: GatewayRecordsSetup,
  store: RecordsStore,
  controls: AppliedControls,
) {
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
    onControls: records => controls.apply(records),
    sync_ms: settings.place.isMemory ? alone_ms : undefined,
    configured: id => configured.findById(id),
    key_cache_ttl_ms: settings.key_cache_ttl_ms,
    clock,
    log,
  });
}
