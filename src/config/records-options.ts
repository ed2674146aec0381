import { resolve } from 'node:path';
import { z } from 'zod';
import { day_ms, hour_ms } from '../common/durations.ts';
import type { RecordsPlace } from '../records/define-records-store.ts';

const units: Readonly<Record<string, number>> = { h: hour_ms, d: day_ms };

/** A time such as `90d` or `12h` in milliseconds, `Infinity` for `never`; `undefined` for anything else. */
function retentionMs(text: string): number | undefined {
  if (text === 'never') return Number.POSITIVE_INFINITY;
  const [, count = '', unit = ''] = /^([1-9]\d{0,5})([hd])$/.exec(text) ?? [];
  return count === '' ? undefined : Number(count) * units[unit]!;
}

/** `smallest` is the shortest time that may be set. */
const retention = (smallest: string) =>
  z
    .string()
    .refine(text => retentionMs(text) !== undefined, 'must be never, or a time such as 90d or 12h')
    .refine(text => (retentionMs(text) ?? Infinity) >= retentionMs(smallest)!, `must be at least ${smallest}`)
    .meta({ shown: true })
    .default('never');

/** `stores.retention`. Nothing is deleted by default: a bill must be provable, and what is deleted cannot be had back. */
export const retentionSchema = z.strictObject({
  rows: retention('1h').describe(
    'How long the ledger has a row for each exchange: `never` deletes none, `90d` and `12h` are days and hours after its beginning. Their sums stay.',
  ),
  sums: retention('32d').describe(
    'How long usage sums by day and month, and the counts of refused requests, are kept: by whole months, `32d` at least, since budgets are read from them. Those by the hour and key are kept for `92d` at most. In memory all are kept for `62d` at most.',
  ),
});

/** Options of the records store, as they stand under `stores`. */
export const recordsOptions = {
  records: z
    .string()
    .meta({ address: true })
    .default('memory')
    .describe(
      'Keys, accounts, ledger: `memory`, `sqlite:PATH` or `postgres://…` (needs the package pg, to be installed beside sluice). In memory, issued keys and a short ledger are lost on exit.',
    ),
  key_cache_ttl_ms: z
    .int()
    .positive()
    .default(600_000)
    .describe(
      'How long keys that have been used at this instance go on working while the records store is down.',
    ),
  ledger_queue: z
    .string()
    .min(1)
    .meta({ shown: true })
    .optional()
    .describe(
      'The file in which the ledger waits while the records store is down: beside the SQLite file by default, `sluice-ledger-queue.db` with Postgres.',
    ),
  ledger_queue_rows: z
    .int()
    .positive()
    .default(1_000_000)
    .describe('How many exchanges may wait there; about 1.5 kB each.'),
  retention: retentionSchema
    .prefault({})
    .describe('How long the records store keeps the ledger; nothing of it is deleted by default.'),
};

type RecordsConfig = z.output<z.ZodObject<typeof recordsOptions>>;

/** This month and the last, with their days: what grows in memory must have an end. */
const max_sums_in_memory_ms = 62 * day_ms;

/** Where and how a gateway keeps its records. Relative paths start at the configuration's `directory`. */
export function recordsSettings(stores: RecordsConfig, directory: string, place: RecordsPlace) {
  const beside = place.file === undefined ? 'sluice-ledger-queue.db' : `${place.file}-ledger-queue`;
  const max_sums_ms = place.isMemory ? max_sums_in_memory_ms : Infinity;
  return {
    place,
    key_cache_ttl_ms: stores.key_cache_ttl_ms,
    /** The file in which rows of the ledger wait while the store is down. */
    queue_path: resolve(directory, stores.ledger_queue ?? beside),
    queue_rows: stores.ledger_queue_rows,
    retention: {
      rows_ms: retentionMs(stores.retention.rows)!,
      sums_ms: Math.min(retentionMs(stores.retention.sums)!, max_sums_ms),
    },
  };
}

export type RecordsSettings = ReturnType<typeof recordsSettings>;
