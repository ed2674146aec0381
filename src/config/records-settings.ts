import { resolve } from 'node:path';
import type { RecordsSettings } from '../stores/records/gateway-records.ts';
import { targetOf } from '../stores/records/records-target.ts';
import type { RetentionTimes } from '../stores/records/retention.ts';
import { type RetentionConfig, retentionMs } from '../stores/records/retention-schema.ts';
import type { CheckedConfig } from './schema.ts';

/** Options of the records store; relative paths start at the configuration's `directory`. */
export function recordsSettings(stores: CheckedConfig['stores'], directory: string): RecordsSettings {
  const target = targetOf(stores.records, directory)!;
  const beside = target.kind === 'sqlite' ? `${target.path}-ledger-queue` : 'sluice-ledger-queue.db';
  return {
    target,
    key_cache_ttl_ms: stores.key_cache_ttl_ms,
    queue_path: resolve(directory, stores.ledger_queue ?? beside),
    queue_rows: stores.ledger_queue_rows,
    retention: retentionOf(stores.retention, target.kind === 'memory'),
  };
}

const day_ms = 86_400_000;
/** This month and the last, with their days: what grows in memory must have an end. */
const sums_in_memory_ms = 62 * day_ms;

function retentionOf({ rows, sums }: RetentionConfig, isMemory: boolean): RetentionTimes {
  const sums_ms = retentionMs(sums)!;
  return {
    rows_ms: retentionMs(rows)!,
    sums_ms: isMemory ? Math.min(sums_ms, sums_in_memory_ms) : sums_ms,
  };
}
