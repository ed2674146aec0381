import { defineRecordsStore, type RecordsPlace, sqliteInMemory } from '../../../src/store-plugin.ts';
import { NewestRows } from './newest-rows.ts';
import { sqlRecords } from './sql-records.ts';

/** How many exchanges the ledger of a gateway without a records store keeps. */
export const kept_in_memory = 1000;

/** Content of stored responses that it keeps. */
const max_response_bytes = 128 * 1024 * 1024;

/** Records in the memory of this process. */
export const memoryPlace: RecordsPlace = {
  name: 'memory',
  isMemory: true,
  async open() {
    const database = sqliteInMemory();
    const newest = new NewestRows(database, kept_in_memory);
    return sqlRecords({ ...database, settle: () => newest.write() }, { newest, max_response_bytes });
  },
  over: workerRecords,
};

/** Records that end with the process, in a SQLite database in memory. */
export const memoryRecords = defineRecordsStore({
  name: 'memory',
  form: 'memory',
  placeOf: text => (text === 'memory' ? memoryPlace : undefined),
});

/** The records of a worker, whose primary process has migrated the database before. */
export function workerRecords(database: Parameters<typeof sqlRecords>[0]) {
  return { ...sqlRecords(database), migrate: async () => {} };
}
