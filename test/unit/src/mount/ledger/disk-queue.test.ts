import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { checkQueueFile } from '../../../../../src/mount/ledger/check-queue-file.ts';
import { DiskQueue } from '../../../../../src/mount/ledger/disk-queue.ts';
import { createLog } from '../../../../../src/telemetry/log.ts';
import { sampleRow, sampleRows } from './sample-row.ts';

let directory: string;
let opened: DiskQueue[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-queue-'));
  opened = [];
});
afterEach(async () => {
  await Promise.all(opened.map(queue => queue.close()));
  await rm(directory, { recursive: true, force: true });
});

const queueAt = (max_rows = 1000): DiskQueue => {
  const queue = new DiskQueue(join(directory, 'queue.db'), max_rows);
  opened.push(queue);
  return queue;
};

const bytesOf = async (path: string) => (await stat(path)).size;

describe('a queue file that two processes share', () => {
  it('is counted again when the other process has emptied it', async () => {
    const [one, other] = [queueAt(), queueAt()];
    await one.append(sampleRows(20));
    await other.remove(await other.first(100));
    expect(one.rows).toBe(20);
    expect(await one.first(10)).toEqual([]);
    expect(one.rows).toBe(0);
  });

  it('has room again when the other process has emptied it', async () => {
    const [one, other] = [queueAt(10), queueAt(10)];
    expect(await one.append(sampleRows(12))).toHaveLength(2);
    await other.remove(await other.first(100));
    expect(await one.append(sampleRows(10))).toEqual([]);
    expect(one.rows).toBe(10);
  });

  it('stays within its size limit, whichever process fills it', async () => {
    const [one, other] = [queueAt(10), queueAt(10)];
    await Promise.all([one.append(sampleRows(1)), other.append(sampleRows(1))]);
    await one.append(sampleRows(6));
    expect(await other.append(sampleRows(6))).toHaveLength(4);
    expect(await one.append(sampleRows(1))).toHaveLength(1);
    expect(await one.first(100)).toHaveLength(10);
  });
});

describe('a queue file', () => {
  it('knows since when its oldest row waits, as last seen', async () => {
    const [queue, other] = [queueAt(), queueAt()];
    const rows = [3000, 2000, 4000].map(started_ms => sampleRow({ started_ms }));
    expect(queue.oldest_ms).toBe(Number.POSITIVE_INFINITY);
    const seen: number[] = [];
    for (const row of rows) {
      await queue.append([row]);
      seen.push(queue.oldest_ms);
    }
    await other.remove([rows[1]!]);
    await queue.first(9);
    seen.push(queue.oldest_ms);
    await queue.remove([rows[0]!, rows[2]!]);
    expect([...seen, queue.oldest_ms]).toEqual([3000, 2000, 2000, 3000, Number.POSITIVE_INFINITY]);
  });

  it('keeps half of its room for paid rows', async () => {
    const queue = queueAt(10);
    const unbilled = sampleRows(8, { prompt_tokens: 0, completion_tokens: 0 });
    expect(await queue.append(unbilled)).toEqual(unbilled.slice(5));
    const billed = sampleRows(6);
    expect(await queue.append(billed)).toEqual(billed.slice(5));
  });

  it('shrinks when it has been emptied', async () => {
    const queue = queueAt(10_000);
    for (let at = 0; at < 3; at++) await queue.append(sampleRows(500));
    expect(queue.isSparse).toBe(true);
    for (let rows = await queue.first(500); rows.length > 0; rows = await queue.first(500))
      await queue.remove(rows);
    await queue.vacuum();
    expect(await bytesOf(queue.path)).toBeLessThan(24_000);
    expect(await bytesOf(`${queue.path}-wal`)).toBeLessThan(24_000);
    expect(queue.isSparse).toBe(false);
  });

  it('is readable and writable by its owner only, for any umask', async () => {
    const umask = process.umask(0);
    try {
      const queue = queueAt();
      await queue.append([sampleRow()]);
      for (const file of ['', '-wal', '-shm'])
        expect((await stat(`${queue.path}${file}`)).mode & 0o777).toBe(0o600);
    } finally {
      process.umask(umask);
    }
  });
});

describe('the check of the queue path', () => {
  const check = (path: string) => checkQueueFile(join(directory, path), createLog('silent'));

  it('accepts a missing file without creating it', async () => {
    await check('queue.db');
    await expect(stat(join(directory, 'queue.db'))).rejects.toThrow('ENOENT');
  });

  it('accepts a queue with rows, and keeps them', async () => {
    const queue = queueAt();
    await queue.append(sampleRows(3));
    await check('queue.db');
    expect(await queue.first(10)).toHaveLength(3);
  });

  it('accepts a queue that another process is writing to', async () => {
    const queue = queueAt();
    await queue.append(sampleRows(3));
    const other = new DatabaseSync(queue.path);
    other.exec('BEGIN EXCLUSIVE');
    await check('queue.db');
    other.close();
  });

  it('rejects a missing directory, a directory and a file that is no queue, with the path and a remedy', async () => {
    await mkdir(join(directory, 'folder'));
    await writeFile(join(directory, 'text'), 'not a database '.repeat(1000));
    new DatabaseSync(join(directory, 'other.db')).exec('CREATE TABLE accounts (id)');
    for (const [path, expected] of [
      [
        'no/queue.db',
        /no\/queue\.db cannot be used: the directory \S+\/no does not exist; create it, or set/,
      ],
      ['text/queue.db', /the directory|is not a directory; move it away, or set/],
      ['folder', /folder cannot be used: it is a directory; move it away, or set stores\.ledger_queue to/],
      ['text', /text cannot be used: it is damaged or not a SQLite file \(.*\); move it away, or set/],
      ['other.db', /other\.db cannot be used: it is a SQLite file of something else; move it away, or set/],
    ] as const)
      await expect(check(path)).rejects.toThrow(expected);
  });

  it('rejects a queue with damaged pages', async () => {
    const queue = queueAt();
    await queue.append(sampleRows(500));
    await queue.vacuum();
    await queue.close();
    const { open } = await import('node:fs/promises');
    const file = await open(queue.path, 'r+');
    await file.write(Buffer.alloc(40_000, 'x'), 0, 40_000, 8192);
    await file.close();
    await expect(check('queue.db')).rejects.toThrow(
      /it is damaged.*; move it away, or set stores\.ledger_queue/,
    );
  });

  it('rejects a path that this user may not write', async () => {
    // Root may write everywhere but in a file system that is read-only.
    const isRoot = process.getuid?.() === 0;
    if (isRoot) execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', directory]);
    else await chmod(directory, 0o500);
    try {
      await expect(check('queue.db')).rejects.toThrow(/is not writable; give the user/);
    } finally {
      if (isRoot) execFileSync('umount', [directory]);
      else await chmod(directory, 0o700);
    }
  });
});
