import { resolve } from 'node:path';
import { defineRecordsStore, openSqlite, type RecordsPlace } from '../../../src/store-plugin.ts';
import { workerRecords } from '../records/index.ts';
import { sqlRecords } from '../records/sql-records.ts';
import { examineFile } from './examine-file.ts';

/** Records in the SQLite file at `path`. */
export const sqlitePlace = (path: string): RecordsPlace => ({
  name: `sqlite:${path}`,
  file: path,
  open: async () => sqlRecords(await openSqlite(path)),
  over: workerRecords,
  examine: async () => examineFile(path),
});

/** Records in a SQLite file, for one instance. */
export const sqliteRecords = defineRecordsStore({
  name: 'sqlite',
  form: 'sqlite:PATH such as sqlite:./sluice.db',
  placeOf(text, directory) {
    // Not sqlite://PATH, whose meaning is ambiguous.
    const path = /^sqlite:(?!\/\/)(.+)$/.exec(text)?.[1];
    return path === undefined || path === ':memory:' ? undefined : sqlitePlace(resolve(directory, path));
  },
});
