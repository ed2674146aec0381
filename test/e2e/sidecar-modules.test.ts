import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

const directory = await mkdtemp(join(tmpdir(), 'sluice-modules-'));
let sidecar: SidecarProcess | undefined;

afterEach(() => sidecar?.stop());
afterAll(() => rm(directory, { recursive: true }));

/** Node's option that prints the package of every module that is loaded, with how many were loaded so far. */
async function printingPackages(): Promise<string> {
  const hooks = join(directory, 'hooks.mjs');
  await writeFile(
    hooks,
    `import { registerHooks } from 'node:module';
    let modules = 0;
    registerHooks({
      load(url, context, next) {
        if (url.startsWith('node:')) return next(url, context);
        const name = /.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
        process.stderr.write(\`loaded \${url.includes('/src/dashboard/pages/') ? 'a page' : (name ?? 'sluice')}, module \${++modules}\\n\`);
        return next(url, context);
      },
    });`,
  );
  return `--import=${pathToFileURL(hooks)}`;
}

/** What was loaded, by package, and the number of modules. */
function loadedOf(output: string): { packages: string[]; modules: number } {
  const loaded = [...output.matchAll(/^loaded (.+), module (\d+)$/gm)];
  return { packages: [...new Set(loaded.map(([, name]) => name!))], modules: Number(loaded.at(-1)?.[2]) };
}

const optional = /redis|^pg|opentelemetry\/(sdk|exporter|otlp)|openid-client|gpt-tokenizer/;

describe('the packages that a sidecar loads', () => {
  it('exclude what its configuration does not need', async () => {
    sidecar = await startSidecar(sidecarConfig('http://127.0.0.1:9/v1'), {
      NODE_OPTIONS: await printingPackages(),
    });
    const { packages, modules } = loadedOf(sidecar.output());
    expect(packages).toEqual(expect.arrayContaining(['sluice', 'undici']));
    expect(packages.filter(name => optional.test(name))).toEqual([]);
    expect(packages).not.toContain('http-proxy-middleware');
    expect(packages).not.toContain('a page');
    // Every module costs about a third of a millisecond of the start.
    expect(modules).toBeLessThan(1200);
  });
});

describe('the packages that an application loads by importing sluice', () => {
  it('exclude what only a gateway needs', async () => {
    const node = [await printingPackages(), '--conditions=sluice-source', '--input-type=module', '--eval'];
    const root = fileURLToPath(new URL('../../', import.meta.url));
    const { stderr } = await promisify(execFile)(process.execPath, [...node, "await import('sluice')"], {
      cwd: root,
    });
    const { packages, modules } = loadedOf(stderr);
    expect(packages).toEqual(expect.arrayContaining(['sluice', 'zod']));
    expect(packages.filter(name => optional.test(name))).toEqual([]);
    for (const name of ['undici', 'yaml', 'http-proxy-middleware', 'commander', 'a page'])
      expect(packages).not.toContain(name);
    expect(modules).toBeLessThan(670);
  });
});

describe('the modules that a command loads', () => {
  it.each([
    ['--version', 100],
    ['simulate --help', 100],
    ['keys list --config sluice.yaml', 340],
  ])('for `sluice %s` are fewer than %i', async (line, most) => {
    const config = sidecarConfig('http://127.0.0.1:9/v1', { stores: { records: 'sqlite:./sluice.db' } });
    await writeFile(join(directory, 'sluice.yaml'), JSON.stringify(config));
    const bin = fileURLToPath(new URL('../../bin/sluice.cjs', import.meta.url));
    const node = [await printingPackages(), '--conditions=sluice-source', bin];
    const { stderr } = await promisify(execFile)(process.execPath, [...node, ...line.split(' ')], {
      cwd: directory,
    });
    const { packages, modules } = loadedOf(stderr);
    expect(packages).toEqual(expect.arrayContaining(['sluice', 'commander']));
    for (const name of ['undici', 'pino', 'prom-client', 'cockatiel', '@opentelemetry/api'])
      expect(packages).not.toContain(name);
    expect(modules).toBeLessThan(most);
  });
});
