import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { serve } from '../../src/cli/serve.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { capturedLog } from '../support/captured-log.ts';
import { runHere } from '../support/command-here.ts';
import { startGateway } from '../support/gateway-under-test.ts';
import { type RecordsPlace, recordsPlace, runCommand } from '../support/records-place.ts';
import { configFile, sidecarConfig } from '../support/sidecar-process.ts';

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
  });

  it('is reported with its location and without its password when it cannot be opened', async () => {
    const missing = join(directory, 'no/such/folder.db');
    for (const [records, expected] of [
      [`sqlite:${missing}`, `sqlite:${missing} cannot be used: unable to open database file`],
      ['postgres://u:secret@no-such-host.invalid/db', 'postgres://no-such-host.invalid/db cannot be used: '],
    ] as const) {
      const config = {
        ...sidecarConfig(upstream, { stores: { records } }),
        log: { level: 'silent' },
      } as const;
      const { code, stdout, stderr } = await runCommand(config, 'keys', 'list');
      expect([code, stderr]).toEqual([1, expect.stringContaining(expected)]);
      const started = serve(config).catch(({ message }: Error) => message);
      expect(await started).toContain(`stores.records: ${expected}`);
      expect(stdout + stderr + (await started)).not.toContain('secret');
    }
  });

  it('serves key commands while the variables of the providers are not set', async () => {
    // No variable of a provider need be set for those who issue keys.
    const { file, remove } = await configFile(
      stringify({ ...config, providers: { upstream: { adapter: 'vllm', base_url: '${NOT_SET_HERE}' } } }),
    );
    expect((await runHere(['keys', 'list', '--config', file])).code).toBe(0);
    await remove();
  });
});

describe('the records in memory', () => {
  it('are announced once in the log', async () => {
    const { log, lines } = capturedLog();
    const gateway = await startGateway({ upstream, options: { log } as object });
    await gateway.close();
    expect(lines.filter(({ msg }) => msg.includes('records are in memory'))).toHaveLength(1);
  });
});
