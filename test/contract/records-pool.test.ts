import { describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { openPostgresPool } from '../../plugins/stores/postgres/postgres.ts';
import type { PostgresPool } from '../../plugins/stores/postgres/postgres-pool.ts';
import { type Database, StoreUnavailable } from '../../plugins/stores/records/database.ts';
import { openRecords } from '../../plugins/stores/records/records-store.ts';
import { recordsTargets } from '../support/records-targets.ts';
import { until } from '../support/until.ts';

const targets = recordsTargets();
const open = (pool: PostgresPool, statement_ms?: number, connect_ms?: number): Database =>
  openPostgresPool(pool, () => {}, statement_ms, connect_ms);

async function migrated(pool: PostgresPool) {
  const store = await openRecords({ kind: 'pool', pool });
  await store.migrate(0);
  return store;
}

describe("records in a pool of the application's", () => {
  it('leave its tables, its settings and the pool as they are', async () => {
    const pool = await targets.newPool({ max: 1, options: '-c search_path=app -c statement_timeout=3000' });
    await pool.query('CREATE SCHEMA app');
    for (const table of ['accounts', 'ledger', 'schema_migrations'])
      await pool.query(`CREATE TABLE ${table} (id BIGINT)`);
    await pool.query('INSERT INTO accounts VALUES (7)');
    const store = await migrated(pool);
    const alice = { actor: 'cli:alice', at_ms: 0 };
    await store.accounts.create({ id: 'acme', plan: null, limits: {} }, alice);
    expect(await store.accounts.count()).toBe(1);
    await store.close();
    expect((await pool.query('SELECT * FROM accounts')).rows).toEqual([{ id: '7' }]);
    const settings = ['search_path', 'statement_timeout', 'lock_timeout'];
    const shown = async (name: string) => Object.values((await pool.query(`SHOW ${name}`)).rows[0])[0];
    expect(await Promise.all(settings.map(shown))).toEqual(['app', '3s', '0']);
    expect([pool.ending, pool.listenerCount('error')]).toEqual([false, 1]);
  });

  it("are not cut off by the pool's statement timeout, outside of a transaction either", async () => {
    const database = open(await targets.newPool({ statement_timeout: 40 }));
    expect(
      await database.run("SELECT pg_sleep(0.1) IS NULL AS slept, 'x' AS text, 1.5 AS half, NULL AS none"),
    ).toMatchObject([{ slept: false, text: 'x', half: '1.5', none: null }]);
  });

  it('wait for a connection of a busy pool for a limited time, and give back one that comes late', async () => {
    const pool = await targets.newPool({ max: 1 });
    const busy = await pool.connect();
    const database = open(pool, undefined, 100);
    const refused = await database.run('SELECT 1 AS one').catch((thrown: Error) => thrown.message);
    busy.release();
    expect(refused).toBe('no connection was free within 100 ms');
    await until(() => pool.idleCount === 1 && pool.waitingCount === 0);
    expect(await database.run('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('give no connection back in the middle of a transaction', async () => {
    const pool = await targets.newPool({ max: 1 });
    const database = open(pool);
    const failed = database.transaction(async connection => {
      await connection.run('CREATE TABLE half (id INTEGER)');
      throw new Error('thought better of it');
    });
    await expect(failed).rejects.toThrow('thought better of it');
    const { rows } = await pool.query(
      "SELECT to_regclass('half') AS half, pg_current_xact_id_if_assigned() AS xid",
    );
    expect(rows).toEqual([{ half: null, xid: null }]);
  });

  it('end no process when the server closes idle connections, and connect again', async () => {
    const lost: Error[] = [];
    const pool = await targets.newPool({ max: 2 });
    const database = openPostgresPool(pool, error => void lost.push(error));
    await database.run('SELECT 1 AS one');
    const killer = await targets.newPool({ connectionString: pool.options.connectionString! });
    await killer.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    await until(() => lost.length > 0);
    expect(await database.run('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('need no more of a pool than connect, and no more of a connection than query and release', async () => {
    const pool = await targets.newPool();
    const bare: PostgresPool = {
      async connect() {
        const client = await pool.connect();
        return {
          query: query => client.query(query as pg.QueryConfig),
          release: broken => client.release(broken),
        };
      },
    };
    const store = await migrated(bare);
    expect(await store.accounts.count()).toBe(0);
    await store.close();
    await expect(store.accounts.count()).rejects.toThrow('the records have been closed');
  });

  it('do without a pool that never connects, never answers, or answers with nonsense', async () => {
    const never = new Promise<never>(() => {});
    const released: unknown[] = [];
    const answering = (answer: () => unknown): PostgresPool => ({
      connect: async () => ({
        query: answer as () => never,
        release: broken => void released.push(broken),
      }),
    });
    await expect(open({ connect: () => never }, undefined, 100).run('SELECT 1')).rejects.toThrow(
      StoreUnavailable,
    );
    await expect(
      open(
        answering(() => never),
        20,
      ).transaction(async () => 1),
    ).rejects.toThrow('no answer within 5000 ms');
    await expect(open(answering(() => undefined)).run('SELECT 1')).rejects.toThrow(StoreUnavailable);
    expect(released).toEqual([true, true]);
    const { migrate } = await openRecords({ kind: 'pool', pool: answering(async () => ({ rows: [{}] })) });
    await expect(migrate(0)).rejects.toThrow('it does not take the `types` of a query, as pools of pg do');
  }, 20_000);

  it('say which schema is missing to a role that may not create it', async () => {
    const owner = await targets.newPool();
    await owner.query('CREATE ROLE app LOGIN; GRANT ALL ON SCHEMA public TO app');
    const url = new URL(owner.options.connectionString!);
    url.username = 'app';
    const pool = await targets.newPool({ connectionString: url.href });
    await expect(migrated(pool)).rejects.toThrow(/this role may not create it: CREATE SCHEMA sluice AUTH/);
    await owner.query('CREATE SCHEMA sluice AUTHORIZATION app');
    const store = await migrated(pool);
    expect(await store.accounts.count()).toBe(0);
  });

  it('refuse a database with the tables of an early version and leave it as it is', async () => {
    const pool = await targets.newPool();
    await pool.query('CREATE TABLE change_counter (id INTEGER); CREATE TABLE counted_batches (id TEXT)');
    await expect(migrated(pool)).rejects.toThrow(
      'its tables in the schema public, from before the first release, which cannot be upgraded: set a new store',
    );
    const { rows } = await pool.query("SELECT to_regnamespace('sluice') AS schema");
    expect(rows).toEqual([{ schema: null }]);
  });
});
