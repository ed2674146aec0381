import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type RecordsPlace, recordsPlace, runCommand } from '../support/records-place.ts';
import { configFile, runSidecar, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

const upstream = 'http://127.0.0.1:9/v1';
let place: RecordsPlace;
let config: GatewayConfig;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-mistakes-'));
  place = await recordsPlace();
  config = sidecarConfig(upstream, { stores: place.stores });
});
afterAll(async () => {
  await place.remove();
  await rm(directory, { recursive: true, force: true });
});

describe('the records store at startup and in commands', () => {
  it('is rejected by commands when it is in memory and cannot be shared', async () => {
    const { code, stderr } = await runCommand(sidecarConfig(upstream), 'keys', 'list');
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /keeps records in memory, .*Set stores: \{ records: sqlite:\.\/sluice\.db \}.*gives createGateway a pool/,
    );
    const without = await runSidecar(['keys', 'list']);
    expect(without).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("required option '-c, --config <FILE>' not specified"),
    });
  });

  it('is reported with its location and without its password when it cannot be opened', async () => {
    const missing = join(directory, 'no/such/folder.db');
    for (const [records, expected] of [
      [`sqlite:${missing}`, `stores.records: sqlite:${missing} cannot be used: unable to open database file`],
      [
        'postgres://u:secret@no-such-host.invalid/db',
        'stores.records: postgres://no-such-host.invalid/db cannot be used: ',
      ],
    ] as const) {
      const { file, remove } = await configFile(stringify(sidecarConfig(upstream, { stores: { records } })));
      for (const args of [
        ['--config', file],
        ['keys', 'list', '--config', file],
      ]) {
        const { code, stdout, stderr } = await runSidecar(args);
        expect(code).toBe(1);
        expect(stderr).toContain(args.length === 2 ? expected : expected.slice('stores.records: '.length));
        expect(stdout + stderr).not.toContain('secret');
      }
      await remove();
    }
  });

  it('is rejected when a newer version has migrated it', async () => {
    const { file, remove } = await configFile(stringify(config));
    await place.look(async store => store.migrate(0));
    const { DatabaseSync } = await import('node:sqlite');
    const database = new DatabaseSync(place.stores.records.slice('sqlite:'.length));
    database.exec(
      "INSERT INTO schema_migrations (version, name, applied_ms) VALUES (999, 'of the future', 0)",
    );
    const { code, stderr } = await runSidecar(['--config', file]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/schema version 999, this sluice knows \d+: start a newer one/);
    database.exec('DELETE FROM schema_migrations WHERE version = 999');
    database.close();
    await remove();
  });

  it('serves key commands while the variables of the providers are not set', async () => {
    // No variable of a provider need be set for those who issue keys.
    const { file, remove } = await configFile(
      stringify({ ...config, providers: { upstream: { adapter: 'vllm', base_url: '${NOT_SET_HERE}' } } }),
    );
    expect((await runSidecar(['keys', 'list', '--config', file])).code).toBe(0);
    await remove();
  });
});

describe('the commands for records', () => {
  it.each(['keys', 'accounts', 'usage'])('print their help: %s', async name => {
    for (const args of [
      [name, '--help'],
      [name, 'create', '--help'],
    ]) {
      const { code, stdout } = await runSidecar(args);
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`Usage: sluice ${name}`) });
    }
    expect((await runSidecar(['--help'])).stdout).toContain(`  ${name} `);
  });
});

describe('the records in memory', () => {
  it('are announced once in the log', async () => {
    const sidecar = await startSidecar({ ...sidecarConfig(upstream), log: { level: 'info' } });
    const said = sidecar.output().match(/records are in memory/g);
    expect(await sidecar.stop()).toBe(0);
    expect(said).toHaveLength(1);
  });
});
