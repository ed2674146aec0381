import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import pg from 'pg';
import { openPostgres } from '../../plugins/stores/postgres/postgres.ts';
import type { Database } from '../../src/records/database.ts';
import { type PostgresServer, startPostgres } from './postgres-server.ts';

/** Makes new, empty places for records: paths of SQLite files, URLs of databases, pools of an application. A server runs for the tests of the calling file. */
export interface RecordsTargets {
  newFile(): string;
  newDatabase(): Promise<string>;
  /** A new database as `make` has made one under this name, once for all. */
  copyOf(name: string, make: (database: Database) => Promise<unknown>): Promise<string>;
  /** On a new database, or that at `connectionString`; ended with the server. */
  newPool(options?: pg.PoolConfig): Promise<pg.Pool>;
}

export function recordsTargets(): RecordsTargets {
  let postgres: PostgresServer;
  let directory: string;
  let made = 0;
  const pools: pg.Pool[] = [];
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sluice-records-'));
    postgres = await startPostgres();
  });
  afterAll(async () => {
    for (const pool of pools) if (!pool.ending) await pool.end();
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
  });
  const templates = new Set<string>();
  const newDatabase = () => postgres.createDatabase(`records_${++made}`);
  return {
    newFile: () => join(directory, `records-${++made}.db`),
    newDatabase,
    async copyOf(name, make) {
      if (!templates.has(name)) {
        const database = await openPostgres(await postgres.createDatabase(name), () => {});
        await make(database);
        await database.close();
        templates.add(name);
      }
      return postgres.createDatabase(`records_${++made}`, name);
    },
    async newPool(options = {}) {
      const pool = new pg.Pool({ connectionString: await newDatabase(), ...options });
      // As an application has to: the server may end connections that are idle.
      pool.on('error', () => {});
      pools.push(pool);
      return pool;
    },
  };
}
