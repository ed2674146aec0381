import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { productionPackages } from '../support/linked-packages.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (name: string): unknown => JSON.parse(readFileSync(join(root, name), 'utf8'));
const { allowScripts, dependencies, devDependencies, peerDependencies, peerDependenciesMeta, files } = read(
  'package.json',
) as {
  readonly [section in 'dependencies' | 'devDependencies' | 'peerDependencies']: Readonly<
    Record<string, string>
  >;
} & {
  readonly allowScripts: Record<string, boolean>;
  readonly peerDependenciesMeta: Record<string, object>;
  readonly files: readonly string[];
};
const { packages } = read('package-lock.json') as {
  packages: Record<
    string,
    {
      resolved?: string;
      integrity?: string;
      peer?: boolean;
      hasInstallScript?: boolean;
      dev?: boolean;
      license?: string;
    }
  >;
};
const installed = Object.entries(packages).filter(([path]) => path !== '');
const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

describe('the npm packages', () => {
  it('have only the install scripts that package.json allows', () => {
    const scripts = installed
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => nameOf(path));
    expect(scripts.toSorted()).toEqual(Object.keys(allowScripts).toSorted());
  });

  it('that users install run no script, and are few', () => {
    const published = installed.filter(([, { dev, peer }]) => !dev && !peer);
    expect(published.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
    expect(published.length).toBeLessThanOrEqual(50);
  });

  it('have the peers that they ask for, so that npm install does not warn of them', () => {
    const { stderr } = spawnSync('npm', ['ls', '--package-lock-only', '--all'], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
  });

  it('come from the public registry, with their digests', () => {
    expect(installed.filter(([, { integrity }]) => !integrity)).toEqual([]);
    const places = installed.flatMap(([, { resolved }]) => resolved ?? []);
    expect(places.filter(place => !place.startsWith('https://registry.npmjs.org/'))).toEqual([]);
  });

  it('have permissive licences, except three that only tests use', () => {
    const free =
      /^\(?(MIT|Apache-2\.0|ISC|Python-2\.0|BSD-[23]-Clause|BlueOak-1\.0\.0|0BSD)\b|\bOR BSD-3-Clause\)$/;
    const others = installed.filter(([, { license = '' }]) => !free.test(license));
    // A program that looks at pages, data, and a file in the public domain: tests need them, unchanged, and nothing that is published has them.
    expect(others.map(([path, { dev, license }]) => [nameOf(path), dev, license])).toEqual([
      ['axe-core', true, 'MPL-2.0'],
      ['caniuse-lite', true, 'CC-BY-4.0'],
      ['fast-sha256', true, 'Unlicense'],
    ]);
  });

  it('keep axe-core out of the published package', () => {
    expect(JSON.stringify([dependencies, peerDependencies])).not.toContain('axe-core');
    expect(devDependencies['axe-core']).toMatch(/^\d+\.\d+\.\d+$/);
    const imports = globSync('{src,plugins}/**/*.{ts,js}', { cwd: root }).filter(file =>
      readFileSync(join(root, file), 'utf8').includes('axe-core'),
    );
    expect(imports).toEqual([]);
    // What is packed is built from src and plugins alone, beside these.
    expect(files).toEqual(
      (
        'bin dist docs/**/*.md docs/explanation/*.svg examples grafana/README.md grafana/alerts/sluice.inhibit.yaml ' +
        'grafana/alerts/sluice.rules.yaml grafana/dashboards sluice.example.yaml ' +
        'sluice.schema.json CHANGELOG.md'
      ).split(' '),
    );
  });

  it('are named in the documents where an option needs one more', () => {
    const page = readFileSync(join(root, 'docs/reference/configuration.md'), 'utf8');
    const optional = Object.keys(peerDependenciesMeta).filter(name => name !== 'express');
    const named = [...page.matchAll(/`npm install (\S+)`/g)].map(([, name]) => name);
    expect(named.toSorted()).toEqual(optional.toSorted());
  });

  it('install little for users, and neither a database client nor a tracing SDK', () => {
    const names = productionPackages();
    expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    expect(names.filter(name => /^pg|redis|openid|gpt-tokenizer|opentelemetry\/(?!api$)/.test(name))).toEqual(
      [],
    );
    const files = names.flatMap(name =>
      globSync(`node_modules/${name}/**/*`, { cwd: root, exclude: path => path.endsWith('/.cache') }),
    );
    // As a file system with blocks of 4 kB counts. The package itself has 8 MB more, and all must stay below 45.
    const blocks = files.map(file => statSync(join(root, file))).filter(file => file.isFile());
    const bytes = blocks.reduce((sum, { size }) => sum + Math.ceil(size / 4096) * 4096, 0);
    expect(bytes / 2 ** 20).toBeLessThan(35);
    expect(bytes / 2 ** 20).toBeGreaterThan(10);
  });
});
