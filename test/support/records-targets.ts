import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { type PostgresServer, startPostgres } from './postgres-server.ts';

/** Makes new, empty places for records: paths of SQLite files and URLs of databases. A server runs for the tests of the calling file. */
export interface RecordsTargets {
  newFile(): string;
  newDatabase(): Promise<string>;
}

export function recordsTargets(): RecordsTargets {
  let postgres: PostgresServer;
  let directory: string;
  let made = 0;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sluice-records-'));
    postgres = await startPostgres();
  });
  afterAll(async () => {
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
  });
  return {
    newFile: () => join(directory, `records-${++made}.db`),
    newDatabase: () => postgres.createDatabase(`records_${++made}`),
  };
}
