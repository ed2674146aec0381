import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

const directory = await mkdtemp(join(tmpdir(), 'sluice-modules-'));
let sidecar: SidecarProcess | undefined;

afterEach(() => sidecar?.stop());
afterAll(() => rm(directory, { recursive: true }));

/** The packages that a sidecar with this state store has loaded when it listens. */
async function loadedPackages(state: string): Promise<string[]> {
  const hooks = join(directory, 'hooks.mjs');
  await writeFile(
    hooks,
    `import { registerHooks } from 'node:module';
    registerHooks({
      load(url, context, next) {
        const name = /.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
        if (name) process.stderr.write('loaded package ' + name + '\\n');
        return next(url, context);
      },
    });`,
  );
  const config = sidecarConfig('http://127.0.0.1:9/v1', { stores: { state, state_connect_timeout_ms: 200 } });
  sidecar = await startSidecar(config, { NODE_OPTIONS: `--import=${pathToFileURL(hooks)}` });
  const loaded = sidecar.output().matchAll(/loaded package (\S+)/g);
  return [...new Set([...loaded].map(([, name]) => name!))];
}

describe('the packages that a sidecar loads', () => {
  it('exclude the Redis and Postgres clients and the OpenTelemetry SDK while its stores are in memory', async () => {
    const loaded = await loadedPackages('memory');
    expect(loaded).toContain('undici');
    expect(loaded.filter(name => /redis|^pg|opentelemetry\/(sdk|exporter|otlp)/.test(name))).toEqual([]);
  });

  it('include the Redis client when the configuration names a Redis', async () => {
    expect(await loadedPackages('redis://127.0.0.1:1')).toContain('@redis/client');
  });
});
