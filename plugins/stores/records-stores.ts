import type { RecordsStoreDefinition } from '../../src/store-plugin.ts';
import { postgresRecords } from './postgres/index.ts';
import { memoryRecords } from './records/index.ts';
import { sqliteRecords } from './sqlite/index.ts';

/** The stores that `stores.records` can name. */
export const builtInRecordsStores: readonly RecordsStoreDefinition[] = [
  memoryRecords,
  sqliteRecords,
  postgresRecords,
];
