import { execFileSync } from 'node:child_process';
import { chmod, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { Load, startTellingUpstream, type TellingUpstream } from '../support/ledger-load.ts';
import {
  ledgerRows,
  oldestRow_s,
  readinessLike,
  recordsDown,
  sendRequests,
} from '../support/ledger-watch.ts';
import { type RecordsPlace, recordsPlace, runCommand } from '../support/records-place.ts';
import { endServed, serveHere } from '../support/sidecar-here.ts';
import { sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';
import { sampleRow } from '../unit/src/mount/ledger/sample-row.ts';

let telling: TellingUpstream;
let place: RecordsPlace;

beforeEach(async () => {
  telling = await startTellingUpstream();
  place = await recordsPlace();
});
afterEach(async () => {
  await endServed();
  await telling.upstream.close();
  await place.remove();
});

const configOf = (stores: object = {}): GatewayConfig =>
  sidecarConfig(telling.upstream.url, { stores: { ...place.stores, ...stores } });

const recordsPath = () => join(place.directory, 'sluice.db');

/** Said in the documents: 250 ms, and the time of one write; a shared machine may take longer over that. */
const window_ms = 1500;

const ledger = () =>
  place.look(async store => {
    const [sum] = await store.usage.sum({ by: [] });
    const { requests = 0, prompt_tokens = 0, completion_tokens = 0 } = sum ?? {};
    expect(await store.ledger.list({ limit: 100_000 })).toHaveLength(requests);
    return { requests, prompt_tokens, completion_tokens };
  });

describe('the ledger in SQLite', () => {
  it('loses at most the last moment when the gateway is killed, and continues after the restart', async () => {
    const config = configOf();
    const sidecar = await startSidecar(config);
    const load = new Load([sidecar.url], clientKey, 8);
    const settledBy = (now_ms: number) =>
      load.answers.filter(({ at_ms, status }) => status === 200 && at_ms < now_ms - window_ms);
    await until(() => settledBy(performance.now()).length > 40, 20_000);
    const killed_ms = performance.now();
    sidecar.signal('SIGKILL');
    await sidecar.exited;
    await load.stop();
    const settled = settledBy(killed_ms);
    expect(settled.length).toBeGreaterThan(20);
    const { requests } = await ledger();
    expect(requests).toBeGreaterThanOrEqual(settled.length);
    expect(requests).toBeLessThanOrEqual(telling.told.requests);

    const next = await serveHere(config);
    const more = new Load([next.url], clientKey, 2);
    await more.more(5);
    await more.stop();
    await next.stop();
    expect((await ledger()).requests).toBe(requests + more.count(200));
  }, 60_000);

  it('loses no row when the gateway is stopped in the middle of a write, and is summed by a command', async () => {
    const config = configOf();
    const sidecar = await serveHere(config);
    const load = new Load([sidecar.url], clientKey, 8);
    await load.more(40);
    await sidecar.stop();
    await load.stop();
    expect(load.count(200)).toBe(telling.told.requests);
    expect(await ledger()).toEqual(telling.told);

    const { requests, prompt_tokens, completion_tokens } = telling.told;
    const today = new Date().toISOString().slice(0, 10);
    const usage = (...args: readonly string[]) => runCommand(config, 'usage', '--account', 'tester', ...args);
    const [table, csv, json, before] = await Promise.all([
      usage(),
      usage('--by', 'day', '--by', 'model', '--csv'),
      usage('--format', 'json'),
      usage('--from', '2020-01-01', '--to', '2020-01-31'),
    ]);
    const total = prompt_tokens + completion_tokens;
    expect(table.stdout).toMatch(
      new RegExp(
        `aion-labs/aion-3.5 +${requests}( +0){6} +${prompt_tokens} +0 +${completion_tokens} +0 +${total} `,
      ),
    );
    expect(table.stdout).toMatch(/\nall +\d+/);
    expect(csv.stdout).toContain(
      `\r\n${today},aion-labs/aion-3.5,${requests},0,0,0,0,0,0,${prompt_tokens},0,`,
    );
    const [entry] = JSON.parse(json.stdout);
    // 0.000003 for each token of the prompt, 0.000006 for each of the completion, without any rounding.
    const micro_usd = BigInt(3 * prompt_tokens + 6 * completion_tokens);
    const cost = `${micro_usd / 1_000_000n}.${(micro_usd % 1_000_000n).toString().padStart(6, '0')}`;
    expect(entry).toMatchObject({ model: 'aion-labs/aion-3.5', cost_usd: cost.replace(/\.?0+$/, '') });
    expect(before).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing of account tester') });
  }, 60_000);
});

describe('a shutdown while neither the records store nor the queue accepts rows', () => {
  it('writes the rows to the log, also a silent one, and exits 1, and the import adds each row once', async () => {
    const folder = join(place.directory, 'queue');
    await mkdir(folder);
    const config = {
      ...configOf({ ledger_queue: join(folder, 'queue.db') }),
      log: { level: 'silent' },
    } as const;
    const sidecar = await startSidecar(config);
    await rm(folder, { recursive: true });
    // Another process takes the ledger's table away: writes fail at once, where a lock is waited for.
    const other = new DatabaseSync(recordsPath());
    other.exec('ALTER TABLE ledger RENAME TO hidden');
    await sendRequests(sidecar, 5);
    const told = await readinessLike(sidecar, /5 rows in memory[\s\S]+unusable/);
    expect(told).toMatch(
      /\nthe ledger queue file \S+ has been unusable for \d+ s, rows wait in memory: .+\n$/,
    );
    expect(await sidecar.stop()).toBe(1);
    other.exec('ALTER TABLE hidden RENAME TO ledger');
    other.close();
    const lines = sidecar.output().split('\n');
    expect(lines.filter(line => line.includes('"ledger_row"'))).toHaveLength(5);
    expect(sidecar.output()).toContain('5 ledger rows could not be written and are in the log');
    expect(await ledgerRows(place)).toBe(0);

    await mkdir(folder);
    const log = join(place.directory, 'gateway.log');
    // As a collector has it: a line cut in two, and something before the JSON.
    const collected = lines.map((line, at) => (at % 2 ? line : `2026-11-22T07:00:00Z sluice[1]: ${line}`));
    await writeFile(log, `${collected.join('\n')}\n`);
    const first = await runCommand(config, 'ledger', 'import', log);
    expect(first).toMatchObject({ code: 0, stdout: 'imported: 5, already there: 0, unreadable: 0\n' });
    const again = await runCommand(config, 'ledger', 'import', log);
    expect(again.stdout).toBe('imported: 0, already there: 5, unreadable: 0\n');
    expect(await ledgerRows(place)).toBe(telling.told.requests);
  });
});

describe('the import of ledger rows', () => {
  it('reports the row that the store refuses, and counts it as neither imported nor there already', async () => {
    const log = join(place.directory, 'gateway.log');
    const rows = [sampleRow(), sampleRow({ cost_usd: '99999999999' })];
    await writeFile(log, rows.map(row => `${JSON.stringify({ ledger_row: row })}\n`).join(''));
    const { code, stdout, stderr } = await runCommand(configOf(), 'ledger', 'import', log);
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'imported: 1, already there: 0, unreadable: 1\n' });
    expect(stderr).toContain(`row ${rows[1]!.id}: `);
  });

  it('reports the lines it cannot read, imports the rest and exits with a failure', async () => {
    const log = join(place.directory, 'gateway.log');
    await writeFile(log, 'started\n{"ledger_row":{"id":"1"}}\n{"ledger_row":{"id":\n');
    const { code, stdout, stderr } = await runCommand(configOf(), 'ledger', 'import', log);
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'imported: 0, already there: 0, unreadable: 2\n' });
    expect(stderr).toMatch(/^line 2: .+\nline 3: .+\nnot every ledger row of the log could be imported\n$/);
    const missing = await runCommand(configOf(), 'ledger', 'import', `${log}.1`);
    expect(missing).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^sluice ledger import: ENOENT/),
    });
  });
});

describe('the record files', () => {
  it('are created for their owner only, also that of rows which the other refuses, and wider permissions are warned about', async () => {
    const umask = process.umask(0);
    const sidecar = await serveHere(configOf()).finally(() => process.umask(umask));
    // Another process has the file for itself: others can read it and not write it.
    const other = new DatabaseSync(recordsPath());
    other.exec('BEGIN EXCLUSIVE');
    await sendRequests(sidecar, 1);
    await readinessLike(sidecar, /1 row on disk/);
    for (const file of ['sluice.db', 'queue.db'])
      for (const suffix of ['', '-wal', '-shm'])
        expect([file, suffix, (await stat(join(place.directory, file + suffix))).mode & 0o777]).toEqual([
          file,
          suffix,
          0o600,
        ]);
    expect(await recordsDown(sidecar)).toEqual(['ledger_insert']);
    expect(await oldestRow_s(sidecar)).toBeGreaterThan(0);
    other.close();
    await readinessLike(sidecar, /^200 ready\n$/);
    expect([await recordsDown(sidecar), await oldestRow_s(sidecar)]).toEqual([[], 0]);
    await sidecar.stop();
    expect(await ledgerRows(place)).toBe(1);
    expect(sidecar.output()).not.toContain('other users');

    await chmod(recordsPath(), 0o644);
    await chmod(join(place.directory, 'queue.db'), 0o640);
    const next = await serveHere(configOf());
    await next.stop();
    for (const file of ['sluice.db', 'queue.db'])
      expect(next.output()).toMatch(
        new RegExp(`other users of this machine may use \\S+${file}, .+chmod 600`),
      );
  }, 60_000);
});

/** Where this user may mount: a file system that can be full. */
const canMount = (() => {
  try {
    execFileSync('unshare', ['--mount', 'true'], { stdio: 'ignore' });
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
})();

(canMount ? describe : describe.skip)('a full disk', () => {
  it('is reported, keeps rows in memory, and receives them once there is space', async () => {
    const disk = join(place.directory, 'disk');
    await mkdir(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk]);
    try {
      const records = `sqlite:${join(disk, 'sluice.db')}`;
      const sidecar = await serveHere(configOf({ records, ledger_queue: join(disk, 'queue.db') }));
      await sendRequests(sidecar, 1);
      await writeFile(join(disk, 'ballast'), Buffer.alloc(4_000_000)).catch(() => {});
      let sent = 1;
      let told = '';
      // What SQLite has written already it writes over, so that it takes some rows for the disk to be full.
      while (!/rows? in memory/.test(told) && sent < 200) {
        sent += (await sendRequests(sidecar, 10)).length;
        told = await readinessLike(sidecar, /^200 ready/);
      }
      expect(told).toMatch(/ledger writes have failed for \d+ s, .*rows? in memory.*: .*full/);
      await rm(join(disk, 'ballast'));
      await readinessLike(sidecar, /^200 ready\n$/);
      await sidecar.stop();
      const rows = new DatabaseSync(join(disk, 'sluice.db'));
      expect(rows.prepare('SELECT COUNT(*) AS rows FROM ledger').get()).toEqual({ rows: sent });
      rows.close();
    } finally {
      execFileSync('umount', ['-l', disk]);
    }
  }, 120_000);
});
