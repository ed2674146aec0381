import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { GatewayConfig } from '../../src/config/schema.ts';
import type { RecordsStore } from '../../src/records/records-store.ts';
import { runHere } from './command-here.ts';
import { placeOf } from './open-records.ts';
import { configFile, type FinishedCommand } from './sidecar-process.ts';

/** A records store that a test shares with sidecars and commands. */
export interface RecordsPlace {
  /** `stores` for a configuration. */
  readonly stores: { readonly records: string; readonly ledger_queue: string };
  readonly directory: string;
  /** Opens a second connection to the store, passes it to `at` and returns what `at` returns. */
  look<T>(at: (store: RecordsStore) => Promise<T>): Promise<T>;
  remove(): Promise<void>;
}

/** A SQLite file in a directory of its own, or the Postgres database at `url`. */
export async function recordsPlace(url?: string): Promise<RecordsPlace> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-place-'));
  const records = url ?? `sqlite:${join(directory, 'sluice.db')}`;
  return {
    stores: { records, ledger_queue: join(directory, 'queue.db') },
    directory,
    look: async at => {
      const store = await placeOf(records, directory).open();
      try {
        await store.migrate(Date.now());
        return await at(store);
      } finally {
        await store.close();
      }
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/** `sluice ARGUMENTS --config FILE`, with this configuration in the file. */
export async function runCommand(
  config: GatewayConfig,
  ...args: readonly string[]
): Promise<FinishedCommand> {
  const { file, remove } = await configFile(stringify(config));
  try {
    return await runHere([...args, '--config', file]);
  } finally {
    await remove();
  }
}
