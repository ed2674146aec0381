import type { RecordsSettings } from '../../config/records-options.ts';
import type { ConfiguredAccounts } from '../../records/configured-accounts.ts';
import type { RecordsStore } from '../../records/records-store.ts';
import { warnOfSharedFiles } from '../../records/sqlite/private-file.ts';
import { RecordsMetrics } from '../../telemetry/records-metrics.ts';
import type { Surroundings } from '../../telemetry/surroundings.ts';
import { checkQueueFile } from '../ledger/check-queue-file.ts';
import { DiskQueue } from '../ledger/disk-queue.ts';
import { Ledger } from '../ledger/ledger.ts';
import { pastUsage } from '../ledger/past-usage.ts';
import type { PastUseSource } from '../state/past-restorer.ts';
import type { Channel } from '../workers/channel.ts';
import { HandOver } from './hand-over.ts';
import { Retention } from './retention.ts';

/** The ledger of a process, and what else it does for it. */
export interface StartedLedger {
  readonly ledger: Ledger;
  /** Use of accounts before this process started; undefined where records are in memory, and in a worker. */
  readonly past: PastUseSource | undefined;
  /** Ends what runs beside the ledger. */
  close(): Promise<void>;
}

/** In memory nothing else runs while a batch is added to the sums. */
const inMemoryOptions = { batch_rows: 100 };
/**
 * A worker hands over soon: what it has not handed over is lost when it is killed. The documents promise 50 ms, of which the rest is for a busy
 * event loop; a message every 10 ms takes less than a hundredth of a core.
 */
const workerOptions = { flush_ms: 10, refusals_ms: 250 };

/** The ledger of a process that writes it itself, and deletes what is too old. Throws for a queue file that cannot be used. */
export async function startLedger(
  { settings, ...surroundings }: Surroundings & { readonly settings: RecordsSettings },
  store: RecordsStore,
  configured: Pick<ConfiguredAccounts, 'findById' | 'below'>,
): Promise<StartedLedger> {
  const { place, queue_path, queue_rows, retention: times } = settings;
  const { clock, log, metrics } = surroundings;
  const inMemory = place.isMemory === true;
  if (inMemory)
    log.info(
      'records are in memory and are lost on exit: issued keys, and the ledger of the last exchanges; set stores.records to keep them',
    );
  else {
    await checkQueueFile(queue_path, log);
    warnOfSharedFiles(queue_path, log);
  }
  const disk = inMemory ? undefined : new DiskQueue(queue_path, queue_rows);
  const options = inMemory ? inMemoryOptions : {};
  const ledger = new Ledger({ records: store.ledger, disk, ...surroundings, options });
  // In memory nothing else runs during a step.
  const rows_per_step = inMemory ? 50 : 500;
  const { pruning } = store;
  const retention = new Retention({ pruning, times, rows_per_step, ...surroundings });
  const usage: Pick<RecordsStore['usage'], 'budgets' | 'budgetsOfKeys'> = {
    budgets: (ids, since) => metrics.timed('past_usage', () => store.usage.budgets(ids, since)),
    budgetsOfKeys: (keys, since) => metrics.timed('past_usage', () => store.usage.budgetsOfKeys(keys, since)),
  };
  ledger.start();
  void retention.start();
  const below = (ids: readonly string[]) => accountsBelow(ids, store, configured);
  const past = inMemory ? undefined : pastUsage({ below, usage, disk, clock });
  return { ledger, past, close: () => retention.close() };
}

/** Accounts of the configuration, and those of the store that are below one or the other; one of the configuration has no row. */
async function accountsBelow(
  ids: readonly string[],
  { accounts }: Pick<RecordsStore, 'accounts'>,
  configured: Pick<ConfiguredAccounts, 'findById' | 'below'>,
) {
  const own = ids.flatMap(above => configured.below(above).map(id => ({ id, above })));
  const stored = await accounts.below([...new Set([...ids, ...own.map(({ id }) => id)])]);
  return [
    ...own,
    ...stored
      .filter(({ id }) => !configured.findById(id))
      .flatMap(({ id, above }) => [
        { id, above },
        ...own.filter(one => one.id === above).map(one => ({ id, above: one.above })),
      ]),
  ];
}

/** Past use as a worker finds it: without what waits on the disk of the primary process. */
export const pastOfWorker = (
  store: RecordsStore,
  configured: Pick<ConfiguredAccounts, 'findById' | 'below'>,
  { clock, settings }: Pick<Surroundings, 'clock'> & { readonly settings: RecordsSettings },
): PastUseSource | undefined =>
  settings.place.isMemory
    ? undefined
    : pastUsage({
        below: ids => accountsBelow(ids, store, configured),
        ...{ usage: store.usage, disk: undefined, clock },
      });

/** The ledger of a worker, which hands everything over to the primary process. Rows wait here until they have been sent. */
export async function startWorkerLedger(
  surroundings: Surroundings,
  primary: Channel,
): Promise<StartedLedger> {
  const records = new HandOver(primary, rows => ledger.putBack(rows));
  const metrics = new HandOverMetrics(surroundings.metrics.registry);
  const ledger = new Ledger({ ...surroundings, metrics, records, disk: undefined, options: workerOptions });
  return { ledger, past: undefined, close: async () => {} };
}

/** Metrics of a ledger whose writes are those of another process. */
class HandOverMetrics extends RecordsMetrics {
  override timed<T>(_operation: string, ask: () => Promise<T>): Promise<T> {
    return ask();
  }
}
