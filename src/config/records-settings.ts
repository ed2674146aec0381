import { resolve } from 'node:path';
import type { RecordsSettings } from '../stores/gateway-records.ts';
import { targetOf } from '../stores/records/records-target.ts';
import type { CheckedConfig } from './schema.ts';

/** Where records are kept; relative paths start at the configuration's `directory`. */
export function recordsSettings(stores: CheckedConfig['stores'], directory: string): RecordsSettings {
  const target = targetOf(stores.records, directory)!;
  const beside = target.kind === 'sqlite' ? `${target.path}-ledger-queue` : 'sluice-ledger-queue.db';
  return {
    target,
    known_keys_ms: stores.known_keys_ms,
    queue_path: resolve(directory, stores.ledger_queue ?? beside),
    queue_rows: stores.ledger_queue_rows,
  };
}
