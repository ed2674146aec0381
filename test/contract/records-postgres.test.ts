import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { Registry } from 'prom-client';
import { openPostgres, openPostgresPool } from '../../plugins/stores/postgres/postgres.ts';
import { type LedgerMonths, ledgerMonths } from '../../plugins/stores/records/ledger-months.ts';
import { ledgerRecords } from '../../plugins/stores/records/ledger-records.ts';
import { migrate } from '../../plugins/stores/records/migrate.ts';
import { type Migration, migrations } from '../../plugins/stores/records/migrations.ts';
import { pruning } from '../../plugins/stores/records/pruning.ts';
import { usageRecords } from '../../plugins/stores/records/usage-records.ts';
import { timeOrderedUuid } from '../../src/common/ids.ts';
import type { LedgerRow } from '../../src/gateway/settlement/ledger-entry.ts';
import { Retention } from '../../src/mount/records/retention.ts';
import type { Connection, Database } from '../../src/records/database.ts';
import type { LedgerQuery, LedgerRecords } from '../../src/records/ledger-records.ts';
import type { PostgresPool } from '../../src/records/postgres-pool.ts';
import { StoreUnavailable } from '../../src/records/record-errors.ts';
import { openSqlite } from '../../src/records/sqlite/sqlite.ts';
import { RecordsMetrics } from '../../src/telemetry/records-metrics.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openRecords } from '../support/open-records.ts';
import { PrintingProcess } from '../support/printing-process.ts';
import { recordsTargets } from '../support/records-targets.ts';
import { until } from '../support/until.ts';
import { sampleRow, sampleRows } from '../unit/src/mount/ledger/sample-row.ts';

/** One server for all of these. */
const targets = recordsTargets();

describe('months', () => {
  const now = '2026-11-20T12:00:00Z';
  let url: string;
  let database: Database;
  let ledger: LedgerRecords;
  let months: LedgerMonths;
  const opened: Database[] = [];

  async function open(at = url): Promise<Database> {
    const database = await openPostgres(at, () => {});
    opened.push(database);
    return database;
  }

  async function begin(at: string): Promise<void> {
    url = at;
    database = await open();
    [ledger, months] = [ledgerRecords(database), ledgerMonths(database)];
  }
  afterEach(async () => {
    for (const database of opened.splice(0)) await database.close();
  });

  const timeOf = (at: string): number => Date.parse(at);
  const migrated = (on: Database) => migrate(on, true, timeOf(now));
  const rowAt = (at: string, more: Partial<LedgerRow> = {}) => sampleRow({ started_ms: timeOf(at), ...more });

  /** How many rows each table of the ledger or of the attempts has, by the part of its name that says which. */
  async function tablesOf(table: 'ledger' | 'attempts', on: Connection = database) {
    const tables = await on.run<{ name: string }>(
      `SELECT relname AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'sluice.${table}'::regclass ORDER BY 1`,
    );
    const counts: Record<string, number> = {};
    for (const { name } of tables) {
      const [counted] = await on.run<{ rows: number }>(`SELECT COUNT(*) AS rows FROM sluice.${name}`);
      counts[name.slice(table.length + 1)] = counted!.rows;
    }
    return counts;
  }

  /** Both tables, which must have the same months and, since each row of the tests has one attempt, as many rows. */
  async function monthsOf(on: Connection = database) {
    const counts = await tablesOf('ledger', on);
    expect(await tablesOf('attempts', on)).toEqual(counts);
    return counts;
  }

  describe('the schema of the ledger', () => {
    beforeEach(async () => begin(await targets.newDatabase()));

    it('has one table for the past, those of the next months, and one for what has no month', async () => {
      await migrate(database, true, timeOf(now));
      await ledger.insert(
        ['2024-02-29T23:00:00Z', now, '2026-11-30T23:59:59.999Z', '2026-12-01T00:00:00Z', '2031-01-01'].map(
          at => rowAt(at),
        ),
      );
      expect(await monthsOf()).toEqual({ to_2026_11: 3, '2026_12': 1, '2027_01': 0, others: 1 });
    });

    it('finds months where the language of the database sorts aa behind z', async () => {
      const danish = new URL(url);
      danish.pathname = '/danish';
      await database.run(
        "CREATE DATABASE danish TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'da-DK' LOCALE 'C.UTF-8'",
      );
      const there = await open(danish.href);
      await migrate(there, true, timeOf('2025-11-23'));
      // The ids of that time begin with 019aa.
      const row = rowAt('2025-11-22T12:00:00Z');
      expect(row.id).toMatch(/^019aa/);
      await ledgerRecords(there).insert([row, rowAt('2025-12-01'), rowAt('2026-01-01')]);
      expect(await monthsOf(there)).toEqual({ to_2025_11: 1, '2025_12': 1, '2026_01': 1, others: 0 });
    });
  });

  describe('the months of the ledger', () => {
    beforeEach(async () => begin(await targets.copyOf('newest', made => migrated(made))));

    it('are created before they begin, across the end of the year, once by all instances', async () => {
      const instances = [months, ...(await Promise.all([open(), open()])).map(ledgerMonths)];
      const turn_ms = timeOf('2026-12-31T23:59:59.999Z');
      await Promise.all(instances.map(({ prepare }) => prepare(turn_ms)));
      await months.prepare(turn_ms);
      const rows = ['2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00Z', '2027-02-28T23:59:59.999Z'].map(at =>
        rowAt(at),
      );
      expect(await ledger.insert(rows)).toBe(3);
      expect(await monthsOf()).toEqual({
        to_2026_11: 0,
        '2026_12': 1,
        '2027_01': 1,
        '2027_02': 1,
        others: 0,
      });
    });

    it('take each row once however often it is sent, also at the turn of a month and in between their creation', async () => {
      // It began in March and ended in April, so that it is a row of April.
      const row = rowAt('2027-03-31T23:59:00Z', { id: timeOrderedUuid(timeOf('2027-04-01T00:01:00Z')) });
      const sent = await Promise.all(Array.from({ length: 5 }, () => ledger.insert([row])));
      expect(sent.sort()).toEqual([0, 0, 0, 0, 1]);
      await months.prepare(timeOf('2027-02-01'));
      expect(await ledger.insert([row])).toBe(0);
      expect(await monthsOf()).toMatchObject({ '2027_04': 1, others: 0 });
      expect(await usageRecords(database).sum({ by: ['month'] })).toMatchObject([
        { month: '2027-03', requests: 1 },
      ]);
      const march = { from_ms: timeOf('2027-03-01'), until_ms: timeOf('2027-04-01') };
      expect(await ledger.list({ ...march, limit: 9 })).toMatchObject([{ id: row.id }]);
    });

    it('are created while rows are written, none of which is lost', async () => {
      let isCreated = false;
      const created = months.prepare(timeOf('2027-04-15')).then(() => {
        isCreated = true;
      });
      let sent = 0;
      for (; !isCreated || sent < 200; sent += 2)
        await Promise.all(['2027-04-01', '2027-06-30'].map(at => ledger.insert([rowAt(at)])));
      await created;
      const counts = await monthsOf();
      expect([counts['2027_04'], counts['2027_06'], counts.others]).toEqual([sent / 2, sent / 2, 0]);
    });

    it('stay without a table where too many of their rows lie among the others', async () => {
      await database.run(
        `INSERT INTO sluice.ledger (id, request_id, account, endpoint, started_ms, duration_ms, status, end_reason, attempts, prompt_tokens,
      completion_tokens, cached_tokens, cache_creation_tokens, reasoning_tokens, estimated, cost_pico_usd)
      SELECT ? || number, 'r', 'acme', 'chat', 0, 1, 200, 'completed', 1, 0, 0, 0, 0, 0, 0, 0 FROM generate_series(1, 10001) AS number`,
        [timeOrderedUuid(timeOf('2027-04-10'))],
      );
      await months.prepare(timeOf('2027-04-15'));
      expect(Object.keys(await tablesOf('ledger'))).toEqual([
        '2026_12',
        '2027_01',
        '2027_05',
        '2027_06',
        'others',
        'to_2026_11',
      ]);
      expect(await pruning(database, months).rows(timeOf('2027-05-01'), 20_000)).toBe(10_001);
      await months.prepare(timeOf('2027-04-15'));
      expect(await tablesOf('ledger')).toMatchObject({ '2027_04': 0, others: 0 });
    });
  });

  describe('retention by months', () => {
    let lines: { readonly level: string; readonly [fact: string]: unknown }[];
    let registry: Registry;

    beforeEach(async () => {
      lines = [];
      registry = new Registry();
      const made = await targets.copyOf('filled', async filled => {
        await migrated(filled);
        for (const month of ['2026-12-01', '2027-03-01']) await ledgerMonths(filled).prepare(timeOf(month));
        // A row of each day from October to May.
        const first_ms = timeOf('2026-10-01T12:00:00Z');
        const rows = Array.from({ length: 230 }, (_, day) =>
          sampleRow({ started_ms: first_ms + day * 86_400_000 }),
        );
        await ledgerRecords(filled).insert(rows);
      });
      await begin(made);
    });

    const logged = (level: string) => (facts: object, message: string) =>
      void lines.push({ level, message, ...facts });
    const log = { info: logged('info'), warn: logged('warn'), debug: logged('debug') } as never;

    const run = (at: string, on = database) =>
      new Retention({
        pruning: pruning(on, ledgerMonths(on)),
        times: { rows_ms: 60 * 86_400_000, sums_ms: Number.POSITIVE_INFINITY },
        rows_per_step: 100,
        clock: new FakeClock(timeOf(at)),
        log,
        metrics: new RecordsMetrics(registry),
        wait: async () => {},
      }).run();

    const prunedRows = async () =>
      Number(
        /kind="rows"} (\d+)/.exec(await registry.getSingleMetricAsString('sluice_records_pruned_total'))?.[1],
      );

    it('deletes whole months at once and the days of the month in which it ends', async () => {
      const sums = await usageRecords(database).sum({ by: ['account', 'model', 'day'] });
      // Until the 10th of February.
      await run('2027-04-11T12:00:00Z');
      expect(await monthsOf()).toEqual({
        '2027_02': 19,
        '2027_03': 31,
        '2027_04': 30,
        '2027_05': 18,
        '2027_06': 0,
        others: 0,
      });
      const left = await ledger.list({ limit: 500 });
      expect(left.at(-1)!.started_ms).toBe(timeOf('2027-02-10T12:00:00Z'));
      expect(await prunedRows()).toBe(230 - left.length);
      expect(lines).toMatchObject([{ level: 'info', rows: 230 - left.length }]);
      expect(await usageRecords(database).sum({ by: ['account', 'model', 'day'] })).toEqual(sums);
    });

    it('takes rows that come after their month was deleted, and deletes them with the next', async () => {
      await run('2027-04-11T12:00:00Z');
      expect(await ledger.insert([rowAt('2026-12-24'), rowAt('1970-01-01')])).toBe(2);
      expect(await monthsOf()).toMatchObject({ others: 2 });
      await run('2027-04-11T13:00:00Z');
      expect(await monthsOf()).toMatchObject({ others: 0 });
    });

    it('waits for none that reads for long, and lets nobody wait', async () => {
      const reader = await open();
      const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
      const { promise: isReading, resolve: reading } = Promise.withResolvers<void>();
      const read = reader.transaction(async connection => {
        await connection.run('SELECT COUNT(*) FROM sluice.ledger');
        reading();
        await mayEnd;
      });
      await isReading;
      expect(await pruning(database, months).rows(timeOf('2027-01-01'), 10)).toBe('taken');
      expect(await ledger.insert([rowAt('2027-03-03')])).toBe(1);
      end();
      await read;
      expect(await pruning(database, months).rows(timeOf('2027-01-01'), 10)).toBe(61);
    });

    it('goes on row by row for a role that owns no tables, whose rows are kept without months', async () => {
      await database.run('CREATE ROLE gateway LOGIN');
      await database.run('GRANT USAGE ON SCHEMA sluice TO gateway');
      await database.run('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA sluice TO gateway');
      const limited = await open(url.replace('sluice@', 'gateway@'));
      expect(await ledgerRecords(limited).insert([rowAt('2027-07-07')])).toBe(1);
      expect(await monthsOf()).toMatchObject({ others: 1 });
      await run('2027-06-11T12:00:00Z', limited);
      expect(lines).toMatchObject([
        { level: 'warn', message: 'failed to create the next months of the ledger, retrying later' },
        { level: 'info', rows: 193 },
      ]);
      expect(await monthsOf()).toMatchObject({ to_2026_11: 0, '2027_03': 0, '2027_04': 19, others: 1 });
      // One that owns them makes up for it.
      await run('2027-06-11T12:00:00Z');
      expect(await monthsOf()).toEqual({
        '2027_04': 19,
        '2027_05': 18,
        '2027_06': 0,
        '2027_07': 1,
        '2027_08': 0,
        others: 0,
      });
    });
  });

  describe('the queries of lists', () => {
    let plans: string[];
    let explained: LedgerRecords;

    beforeEach(async () => {
      const failed = { ...sampleRow().attempts_made[0]!, outcome: 'failed' as const };
      const made = await targets.copyOf('lists', async lists => {
        await migrated(lists);
        for (const month of ['2027-01-01', '2027-04-01', '2027-07-01'])
          await ledgerMonths(lists).prepare(timeOf(month));
        const row = { status: 502, error_type: 'provider_error', attempts_made: [failed] };
        await ledgerRecords(lists).insert([rowAt('2027-05-03', row)]);
      });
      await begin(made);
      plans = [];
      explained = ledgerRecords({
        ...database,
        run: async <R extends object>(sql: string, values: readonly never[] = []) => {
          const plan = await database.run<{ 'QUERY PLAN': string }>(`EXPLAIN ${sql}`, values);
          plans.push(plan.map(line => line['QUERY PLAN']).join('\n'));
          return database.run<R>(sql, values);
        },
      });
    });

    /** Which months a query of the first week of May reads, by the end of the tables' names. */
    async function monthsReadBy(asked: Partial<LedgerQuery>): Promise<string[]> {
      const week = { from_ms: timeOf('2027-05-01'), until_ms: timeOf('2027-05-08') };
      const edge = await explained.edgeOf({ ...week, ...asked }, 0);
      expect(await explained.list({ ...week, ...asked, edge, limit: 50 })).toHaveLength(1);
      const tables = plans.join('\n').matchAll(/(?:ledger|attempts)_(to_\d+_\d+|\d+_\d+|others)/g);
      return [...new Set([...tables].map(([, month]) => month!))].sort();
    }

    it.each([
      ['all', {}],
      ['an account', { account: 'acme' }],
      ['a model', { model: 'v/one' }],
      ['failures', { failed: true }],
      ['failures of an account', { account: 'acme', error_type: 'provider_error' }],
    ])('read only the months around their time: %s', async (_, asked) => {
      expect(await monthsReadBy(asked)).toEqual(['2027_03', '2027_04', '2027_05', '2027_06']);
    });

    it('read no rows of other months where an attempt at a provider failed', async () => {
      // Attempts are looked for by their time alone.
      expect(await monthsReadBy({ failed_at: 'local' })).toEqual([
        '2027_03',
        '2027_04',
        '2027_05',
        '2027_06',
      ]);
      expect(plans.join('\n')).not.toMatch(/attempts_(2027_0[36]|others)/);
    });

    it('read a page behind a row in the months before it, of all times', async () => {
      await explained.list({ after: { started_ms: timeOf('2026-10-05'), id: '' }, limit: 50 });
      expect(plans[0]).toContain('ledger_to_2026_11');
      expect(plans[0]).not.toMatch(/ledger_(2027|2026_12)/);
    });
  });
});

const fixture = join(import.meta.dirname, '../fixtures/migrate-and-hang.ts');

const versions = async (database: Connection): Promise<number[]> =>
  (
    await database.run<{ version: number }>('SELECT version FROM sluice.schema_migrations ORDER BY version')
  ).map(({ version }) => version);

const all = migrations.map(({ version }) => version);
const newest = all.at(-1)!;

const kinds: readonly [string, boolean, () => Promise<string>, (place: string) => Promise<Database>][] = [
  ['SQLite', false, async () => targets.newFile(), place => openSqlite(place)],
  ['Postgres', true, () => targets.newDatabase(), place => openPostgres(place, () => {})],
];

describe.each(kinds)('the migrations of %s', (_, isPostgres, newPlace, open) => {
  it('keep the rows and sums of the previous version and add later batches to them', async () => {
    const database = await open(await newPlace());
    await migrate(database, isPostgres, 0);
    const ledger = ledgerRecords(database);
    const rows = sampleRows(3);
    await ledger.insert(rows);
    const usage = usageRecords(database);
    const before = await usage.sum({ by: ['account', 'model', 'day'] });
    const further: Migration = {
      version: newest + 1,
      name: 'further',
      statements: ['ALTER TABLE sluice.ledger ADD COLUMN further TEXT'],
    };
    await migrate(database, isPostgres, 0, { steps: [...migrations, further] });
    expect(await versions(database)).toEqual([...all, newest + 1]);
    expect(await usage.sum({ by: ['account', 'model', 'day'] })).toEqual(before);
    expect(await ledger.insert([...rows, ...sampleRows(1)])).toBe(1);
    expect(await usage.sum({ by: [] })).toMatchObject([{ requests: 4, prompt_tokens: 40 }]);
    await database.close();
  });

  it('refuse a database from before the first release and leave it as it is', async () => {
    const database = await open(await newPlace());
    await migrate(database, isPostgres, 0, { steps: [{ version: 8, name: 'early', statements: [] }] });
    await expect(migrate(database, isPostgres, 0)).rejects.toThrow(
      'the records store has schema version 8, from before the first release, which cannot be upgraded: set a new store',
    );
    expect(await versions(database)).toEqual([8]);
    await database.close();
  });

  it('log each step and how long it took', async () => {
    const lines: unknown[] = [];
    const database = await open(await newPlace());
    const log = { info: (facts: object, message: string) => void lines.push({ ...facts, message }) };
    await migrate(database, isPostgres, 0, { log: log as never });
    const { version, name } = migrations[0]!;
    expect(lines.slice(0, 2)).toEqual([
      { version, migration: name, message: 'migrating the records store' },
      { version, migration: name, message: 'migrated the records store', elapsed_ms: expect.any(Number) },
    ]);
    lines.length = 0;
    await migrate(database, isPostgres, 0, { log: log as never });
    expect(lines).toEqual([]);
    await database.close();
  });

  it('run in only one of two instances that start at once', async () => {
    const place = await newPlace();
    const databases = await Promise.all([open(place), open(place)]);
    let runs = 0;
    const counted: Migration = {
      version: newest + 1,
      name: 'counted',
      statements: [async () => void runs++, 'CREATE TABLE counted (id INTEGER)'],
    };
    await Promise.all(
      databases.map(database => migrate(database, isPostgres, 0, { steps: [...migrations, counted] })),
    );
    expect(runs).toBe(1);
    expect(await versions(databases[1]!)).toEqual([...all, newest + 1]);
    await Promise.all(databases.map(database => database.close()));
  });

  it('resume after the last finished version when the process is killed during the next one', async () => {
    const place = await newPlace();
    const kind = isPostgres ? 'postgres' : 'sqlite';
    const hanging = new PrintingProcess(process.execPath, [fixture, kind, place]);
    await hanging.printed(/in the middle/);
    hanging.signal('SIGKILL');
    await hanging.exited;
    const database = await open(place);
    expect(await versions(database)).toEqual(all);
    // All that the killed one had begun is undone, or its table would be there already.
    const again: Migration = {
      version: newest + 1,
      name: 'again',
      statements: ['CREATE TABLE hanging (id INTEGER)'],
    };
    await migrate(database, isPostgres, 0, { steps: [...migrations, again] });
    expect(await versions(database)).toEqual([...all, newest + 1]);
    await database.close();
  });
});

describe('the migrations of Postgres', () => {
  it('ignore the statement timeouts of the gateway and of the database', async () => {
    const url = await targets.newDatabase();
    const owner = await openPostgres(url, () => {});
    await owner.run(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET statement_timeout = 1`);
    await owner.close();
    const hurried = await openPostgres(url, () => {}, 1);
    const slow: Migration = {
      version: newest + 1,
      name: 'slow',
      statements: ['SELECT pg_sleep(0.05)', 'CREATE TABLE slow (id INTEGER)'],
    };
    await migrate(hurried, true, 0, { steps: [...migrations, slow] });
    await hurried.close();
    const patient = await openPostgres(url, () => {});
    expect(await patient.transaction(versions)).toEqual([...all, newest + 1]);
    await patient.close();
  });

  it('log that another instance is migrating and later find the migration done', async () => {
    const url = await targets.newDatabase();
    const [first, second] = await Promise.all([
      openPostgres(url, () => {}),
      openPostgres(url, () => {}, 200),
    ]);
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    const { promise: isBegun, resolve: begun } = Promise.withResolvers<void>();
    const held: Migration = {
      version: newest + 1,
      name: 'held',
      statements: [
        async () => {
          begun();
          await mayEnd;
        },
      ],
    };
    const running = migrate(first, true, 0, { steps: [...migrations, held] });
    await isBegun;
    await expect(migrate(second, true, 0, { steps: [...migrations, held] })).rejects.toThrow(
      'another instance is migrating it',
    );
    end();
    await running;
    await migrate(second, true, 0, { steps: [...migrations, held] });
    await Promise.all([first.close(), second.close()]);
  });
});

describe('pools', () => {
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
});
