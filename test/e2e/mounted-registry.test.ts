import { cpSync, symlinkSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { startSimulator } from '../../src/simulator/server.ts';
import { post } from '../support/chain-app.ts';
import { alongside, startApp } from '../support/express-app.ts';
import { ask } from '../support/gateway-under-test.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { until } from '../support/until.ts';

const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url));
let directory: string | undefined;

afterEach(async () => {
  await closeMounted();
  if (directory) await rm(directory, { recursive: true });
});

/** A second copy of prom-client, as an application has whose version is another. */
async function secondCopy(): Promise<typeof import('prom-client')> {
  directory = await mkdtemp(join(tmpdir(), 'sluice-registry-'));
  const own = join(directory, 'node_modules');
  await mkdir(own);
  cpSync(join(modules, 'prom-client'), join(own, 'prom-client'), { recursive: true });
  for (const name of ['@opentelemetry', 'tdigest', 'bintrees'])
    symlinkSync(join(modules, name), join(own, name));
  return createRequire(join(directory, 'app.js'))('prom-client') as typeof import('prom-client');
}

it("shows its metrics beside the application's in a registry of another copy of prom-client", async () => {
  const { Counter, Registry: Other } = await secondCopy();
  expect(Other).not.toBe(Registry);
  const registry = new Other();
  new Counter({ name: 'app_visits_total', help: 'Visits.', registers: [registry] }).inc();
  const gateway = await mountable(alongside(await startSimulator()), {}, { registry });
  const app = await startApp(app => app.use(gateway));
  await (await post(`${app.url}/v1/chat/completions`, ask('Hello?'))).text();
  await until(() => gateway.inFlight === 0);
  expect(gateway.registry).toBe(registry);
  const shown = await registry.metrics();
  expect(shown).toContain('app_visits_total 1\n');
  expect(shown).toMatch(/sluice_requests_total\{[^}]*status="200"[^}]*\} 1\n/);
  // The log is the gateway's own; its lines are counted for the process, in which other tests have run.
  expect(shown).toMatch(/^sluice_log_dropped_lines_total \d+$/m);
  expect(shown).toMatch(/sluice_stage_duration_seconds_bucket|sluice_request_duration_seconds_bucket/);
});
