import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { openPostgres } from '../../plugins/stores/postgres/postgres.ts';
import type { Connection, Database } from '../../plugins/stores/records/database.ts';
import { ledgerRecords } from '../../plugins/stores/records/ledger-records.ts';
import { migrate } from '../../plugins/stores/records/migrate.ts';
import { type Migration, migrations } from '../../plugins/stores/records/migrations.ts';
import { usageRecords } from '../../plugins/stores/records/usage-records.ts';
import { openSqlite } from '../../plugins/stores/sqlite/sqlite.ts';
import { PrintingProcess } from '../support/printing-process.ts';
import { recordsTargets } from '../support/records-targets.ts';
import { sampleRows } from '../unit/src/mount/ledger/sample-row.ts';

const targets = recordsTargets();
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
