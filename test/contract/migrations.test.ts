import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { AlreadyThere, accountRecords } from '../../src/stores/records/account-records.ts';
import type { Connection, Database } from '../../src/stores/records/database.ts';
import { timeOrderedUuid } from '../../src/stores/records/ids.ts';
import { ledgerRecords } from '../../src/stores/records/ledger-records.ts';
import { migrate } from '../../src/stores/records/migrate.ts';
import { type Migration, migrations } from '../../src/stores/records/migrations.ts';
import { openPostgres } from '../../src/stores/records/postgres.ts';
import { openSqlite } from '../../src/stores/records/sqlite.ts';
import { usageRecords } from '../../src/stores/records/usage-records.ts';
import { recordsTargets } from '../support/records-targets.ts';
import { sampleRows } from '../unit/src/stores/ledger/sample-row.ts';

const targets = recordsTargets();
const day_ms = 86_400_000;

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

  it('add up the past use of keys and providers, from rows and from refusals', async () => {
    const database = await open(await newPlace());
    await migrate(database, isPostgres, 0, { steps: migrations.filter(({ version }) => version < 6) });
    const noon_ms = Date.parse('2026-11-20T23:59:59.999Z');
    const ledger = Object.entries({
      key_a: noon_ms,
      key_b: noon_ms - 31 * day_ms,
      key_old: noon_ms - 32 * day_ms,
    });
    await database.transaction(async connection => {
      for (const [key_id, started_ms] of ledger)
        await connection.run(
          `INSERT INTO sluice.ledger (id, request_id, account, key_id, endpoint, started_ms, duration_ms, status, end_reason, attempts,
          prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, estimated, cost_pico_usd)
          VALUES (?, 'r', 'acme', ?, 'chat', ?, 1, 200, 'completed', 1, 7, 5, 0, 0, 0, 7000000000000)`,
          [key_id, key_id, started_ms],
        );
      await connection.run(
        "INSERT INTO sluice.refusal_sums VALUES ('2026-11-20', 'acme', 'key_a', '', 429, '', 'refused', 4), ('2026-11-20', 'acme', '', '', 429, '', 'refused', 9)",
      );
    });
    await migrate(database, isPostgres, 0);
    const columns = 'key_id, day, requests, failed_requests, tokens, cost_pico_usd';
    expect(await database.run(`SELECT ${columns} FROM sluice.key_sums ORDER BY key_id`)).toEqual([
      {
        key_id: 'key_a',
        day: '2026-11-20',
        requests: 5,
        failed_requests: 4,
        tokens: 12,
        cost_pico_usd: 7_000_000_000_000,
      },
      {
        key_id: 'key_b',
        day: '2026-10-20',
        requests: 1,
        failed_requests: 0,
        tokens: 12,
        cost_pico_usd: 7_000_000_000_000,
      },
    ]);
    expect(await usageRecords(database).sum({ by: ['provider', 'day'] })).toMatchObject([
      { provider: '', day: '2026-11-20', requests: 14, failed_requests: 13, cost_usd: '7' },
    ]);
    await database.close();
  });

  it('add up past requests over time, as far back as is shown', async () => {
    const database = await open(await newPlace());
    await migrate(database, isPostgres, 0, { steps: migrations.filter(({ version }) => version < 6) });
    const noon_ms = Date.parse('2026-11-20T12:00:00Z');
    const ledger = Object.entries({ 50: noon_ms, 400: noon_ms - day_ms, 70000: noon_ms - 33 * day_ms });
    await database.transaction(async connection => {
      for (const [first_token_ms, started_ms] of ledger)
        await connection.run(
          `INSERT INTO sluice.ledger (id, request_id, account, model, endpoint, started_ms, duration_ms, first_token_ms, status, end_reason,
          attempts, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, estimated, cost_pico_usd)
          VALUES (?, 'r', 'acme', 'v/one', 'chat', ?, 1, ?, 502, 'upstream_failed', 1, 0, 0, 0, 0, 0, 0)`,
          [first_token_ms, started_ms, Number(first_token_ms)],
        );
    });
    await migrate(database, isPostgres, 0);
    const point = { model: 'v/one', provider: '', error_type: '502', requests: 1 };
    const sums = await database.run('SELECT * FROM sluice.traffic_sums ORDER BY step_ms, at_ms');
    expect(sums).toHaveLength(5);
    expect(sums.slice(0, 2)).toMatchObject([
      { ...point, step_ms: 60_000, at_ms: noon_ms, first_50: 1, first_75: 0, first_later: 0 },
      { ...point, step_ms: 600_000, at_ms: noon_ms - day_ms, first_50: 0, first_400: 1, first_600: 0 },
    ]);
    await database.close();
  });

  it('keep rows, attempts and sums of before reasons were recorded, and add later ones to them', async () => {
    const database = await open(await newPlace());
    await migrate(database, isPostgres, 0, { steps: migrations.filter(({ version }) => version < 8) });
    const started_ms = Date.parse('2026-11-20T12:00:00Z');
    const id = timeOrderedUuid(started_ms);
    await database.transaction(async connection => {
      await connection.run(
        `INSERT INTO sluice.ledger (id, request_id, account, endpoint, started_ms, duration_ms, status, error_type, end_reason, attempts,
        prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, estimated, cost_pico_usd)
        VALUES (?, 'early', 'acme', 'chat', ?, 1, 502, 'provider_error', 'upstream_failed', 1, 0, 0, 0, 0, 0, 0)`,
        [id, started_ms],
      );
      await connection.run(
        "INSERT INTO sluice.attempts (ledger_id, number, provider, offset_ms, wait_ms, outcome, kind) VALUES (?, 1, 'local', 1, 0, 'failed', 'status')",
        [id],
      );
      await connection.run(
        "INSERT INTO sluice.daily_sums VALUES ('v/one', '2026-11-20', 'acme', 5, 2, 0, 0, 0, 0, 0, 0)",
      );
    });
    await migrate(database, isPostgres, 0);
    const ledger = ledgerRecords(database);
    expect(await ledger.find('early')).toMatchObject([
      {
        error_message: null,
        error_param: null,
        requested_model: null,
        attempts_made: [{ error_message: null }],
      },
    ]);
    const refused = { status: 429, error_type: 'rate_limit_error', end_reason: 'refused' };
    const reasons = { error_message: 'Rate limit exceeded.', error_param: 'model', requested_model: 'one' };
    await ledger.insert(sampleRows(1, { started_ms, request_id: 'late', ...refused, ...reasons }));
    expect(await ledger.find('late')).toMatchObject([reasons]);
    const errors = { failed_requests: 3, refusal: 1, provider_failed: 0, gateway_failed: 0, client_error: 0 };
    expect(await usageRecords(database).sum({ account: 'acme', by: [] })).toMatchObject([
      { requests: 6, ...errors },
    ]);
    const classes = await ledger.list({ error_classes: ['provider_failed'], limit: 9 });
    expect(classes.map(({ request_id }) => request_id)).toEqual(['early']);
    await database.close();
  });

  it('keep earlier accounts, enabled and under their names in whatever case', async () => {
    const database = await open(await newPlace());
    await migrate(database, isPostgres, 0, { steps: migrations.filter(({ version }) => version < 6) });
    await database.transaction(connection =>
      connection.run(
        "INSERT INTO sluice.accounts (id, plan, limits, search, created_ms, change) VALUES ('Acme', NULL, '{}', 'acme', 1, 1), ('ACME', NULL, '{}', 'acme', 1, 1)",
      ),
    );
    await migrate(database, isPostgres, 0);
    const accounts = accountRecords(database);
    const who = { actor: 'test', at_ms: 1 };
    expect(await accounts.list({ limit: 9 })).toMatchObject([
      { id: 'ACME', display_name: '', disabled_ms: null },
      { id: 'Acme', display_name: '', disabled_ms: null },
    ]);
    await expect(accounts.create({ id: 'acme', plan: null, limits: {} }, who)).rejects.toThrow(AlreadyThere);
    await database.close();
  });

  it('refuse a database from before the first release and leave it as it is', async () => {
    const database = await open(await newPlace());
    await migrate(database, isPostgres, 0, { steps: [{ version: 1, name: 'early', statements: [] }] });
    await expect(migrate(database, isPostgres, 0)).rejects.toThrow(
      'the records store has schema version 1, from before the first release, which cannot be upgraded: set a new store',
    );
    expect(await versions(database)).toEqual([1]);
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
    const child = spawn(
      process.execPath,
      [
        join(import.meta.dirname, '../fixtures/migrate-and-hang.ts'),
        isPostgres ? 'postgres' : 'sqlite',
        place,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    await printed(child, 'in the middle');
    const exited = new Promise(resolve => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
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

describe('each migration after the first release', () => {
  /** That instances of the version before go on with it is shown in ledger-months.test.ts. */
  const dividing = 'ledger by month';
  const adding = migrations.slice(1).filter(({ name }) => name !== dividing);
  it.each(adding.map(step => [step.name, step] as const))(
    'only adds, so that an instance of the version before goes on: %s',
    async (_, { statements }) => {
      const ran: string[] = [];
      const connection = { run: async (sql: string) => void ran.push(sql) } as unknown as Connection;
      for (const statement of statements)
        if (typeof statement === 'string') ran.push(statement);
        else await statement(connection, true, 0);
      const adds = /^(?:CREATE (?:TABLE|(?:UNIQUE )?INDEX)|ALTER TABLE \S+ ADD COLUMN|INSERT INTO|UPDATE) /;
      const isFilled = (sql: string) => !/ ADD COLUMN .* NOT NULL/.test(sql) || / DEFAULT /.test(sql);
      expect(ran.filter(sql => !adds.test(sql) || !isFilled(sql))).toEqual([]);
    },
  );
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

/** Waits until the process has printed it. */
async function printed(child: ChildProcess, text: string): Promise<void> {
  let all = '';
  for await (const piece of child.stdout!) if ((all += piece).includes(text)) return;
  throw new Error(`the process ended before it printed: ${text}`);
}
