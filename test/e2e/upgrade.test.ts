import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock } from '../../src/common/clock.ts';
import type { RecordsStore } from '../../src/records/records-store.ts';
import { blocksOf, read } from '../support/documents/blocks.ts';
import { placeOf } from '../support/open-records.ts';
import { pathOf } from '../support/programs.ts';
import { recordsTargets } from '../support/records-targets.ts';

const targets = recordsTargets();
const who = { actor: 'test', at_ms: 1 };
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-upgrade-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const blocks = blocksOf('docs/how-to/upgrade.md', read('docs/how-to/upgrade.md'));

/** Runs the line of the page that begins with `start`, in the directory of the store. */
async function run(start: string, environment: Readonly<Record<string, string>> = {}): Promise<void> {
  const lines = blocks.flatMap(({ code }) => code.split('\n'));
  const line = lines.find(each => each.startsWith(start))!;
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
  await promisify(execFile)('sh', ['-ec', line], { cwd: directory, env: { PATH, ...environment } });
}

/** Opens a store and brings it up to date. */
async function opened(address: string): Promise<RecordsStore> {
  const store = await placeOf(address, directory).open();
  await store.migrate(systemClock.epoch_ms());
  return store;
}

/** Whether the store at `address` has the account that was created before the backup. */
async function isComplete(address: string): Promise<boolean> {
  const store = await opened(address);
  const accounts = await store.accounts.list({ limit: 9 });
  await store.close();
  return accounts.length === 1 && accounts[0]!.id === 'acme';
}

describe('the backups before an upgrade', () => {
  it('copy a SQLite store that is in use, once', async () => {
    const store = await opened('sqlite:./sluice.db');
    await store.accounts.create({ id: 'acme', plan: null, limits: {} }, who);
    await run('(umask 077');
    await store.close();
    expect((await stat(join(directory, 'sluice-backup.db'))).mode & 0o777).toBe(0o600);
    expect(await isComplete('sqlite:./sluice-backup.db')).toBe(true);
    await expect(run('(umask 077')).rejects.toThrow('output file already exists');
  });

  it('copy the tables of a Postgres store, which a new database takes', async () => {
    pathOf('pg_dump');
    const DATABASE_URL = await targets.newDatabase();
    const store = await opened(DATABASE_URL);
    await store.accounts.create({ id: 'acme', plan: null, limits: {} }, who);
    await run('pg_dump', { DATABASE_URL });
    await store.close();
    const restored = await targets.newDatabase();
    await promisify(execFile)('pg_restore', ['--dbname', restored, join(directory, 'sluice.dump')]);
    expect(await isComplete(restored)).toBe(true);
  });
});
