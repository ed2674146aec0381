import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

/** Two threads of which the first is left open: it waits for answers of both, and for the end of the second. */
const program = `
const [file, path] = process.argv.slice(1);
const { SqliteThread } = await import(file);
const slow = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT COUNT(*) AS n FROM n';
const opened = async () => { const thread = new SqliteThread(path); await thread.open(); return thread; };
const first = await opened();
await Promise.all([first.run('reader', 'SELECT 1', []), first.run('reader', slow, [])]);
console.log('answered');
const second = await opened();
await Promise.all([second.run('reader', 'SELECT 1', []), second.close()]);
console.log('closed');
`;

/** A transaction whose thread ends between two statements, and what is in the file afterwards. */
const cutOff = `
const [file, path] = process.argv.slice(1);
let thread;
process.on('worker', worker => { thread ??= worker; });
const { openSqlite } = await import(file);
const database = await openSqlite(path);
await database.transaction(({ run }) => run('CREATE TABLE numbers (number INTEGER)'));
const failed = await database.transaction(async ({ run }) => {
  await run('INSERT INTO numbers VALUES (?)', [1]);
  await thread.terminate();
  await run('INSERT INTO numbers VALUES (?)', [2]).catch(() => {});
  await run('INSERT INTO numbers VALUES (?)', [3]);
}).catch(({ message }) => message);
console.log(failed, (await database.run('SELECT number FROM numbers')).length);
await database.close();
`;

it('does no part of a transaction whose thread ended meanwhile', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-thread-'));
  try {
    const file = new URL('../../../../../src/records/sqlite/sqlite.ts', import.meta.url).href;
    const args = ['-e', cutOff, file, join(directory, 'records.db')];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000 });
    expect(stdout).toBe('a transaction was cut off 0\n');
  } finally {
    await rm(directory, { recursive: true });
  }
});

it('keeps its process alive for answers and while it closes, and not when it is idle', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-thread-'));
  try {
    const file = new URL('../../../../../src/records/sqlite/sqlite-thread.ts', import.meta.url).href;
    const args = ['-e', program, file, join(directory, 'records.db')];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000 });
    expect(stdout).toBe('answered\nclosed\n');
  } finally {
    await rm(directory, { recursive: true });
  }
});
