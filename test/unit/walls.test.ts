import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../..', import.meta.url));
const files = globSync(['src/**/*.ts', 'plugins/**/*.ts'], { cwd: root });

interface Import {
  from: string;
  to: string;
  /** Erased before running: types only. */
  typeOnly: boolean;
}

const importsOf = (file: string): Import[] => {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)';/gm);
  return [...found].map(([, type, to]) => ({
    from: file,
    to: to!.startsWith('.') ? normalize(join(dirname(file), to!)) : to!,
    typeOnly: type !== undefined,
  }));
};

const imports = files.flatMap(importsOf);
const inside = imports.filter(({ to }) => to.startsWith('src/') || to.startsWith('plugins/'));

/** The rooms from the top floor down; an import goes down or stays on its floor. */
const floors: readonly (readonly string[])[] = [
  ['src/sidecar.ts'],
  ['src/serve.ts', 'src/http-server.ts', 'src/index.ts', 'src/commands/', 'src/signals.ts'],
  ['src/gateway.ts', 'src/admin.ts', 'src/allowed-hosts.ts', 'src/dashboard/'],
  ['src/assemble.ts', 'src/demo.ts', 'src/gateway-options.ts'],
  ['src/config/'],
  ['plugins/'],
  ['src/testing/'],
  ['src/plugin.ts'],
  ['src/chain/'],
  ['src/settlement/', 'src/upstream/', 'src/stage.ts'],
  ['src/inbound/', 'src/outbound/'],
  ['src/dialects/', 'src/exchange.ts', 'src/ignored-parameters.ts'],
  [
    'src/diagnostics/',
    'src/stores/',
    'src/telemetry/',
    'src/catalog/',
    'src/sse/',
    'src/canonical.ts',
    'src/flow.ts',
    'src/garbage.ts',
    'src/under-way.ts',
    'src/errors.ts',
    'src/clock.ts',
    'src/key-digest.ts',
    'src/json-size.ts',
  ],
];

const floorOf = (file: string): number =>
  floors.findIndex(rooms => rooms.some(room => file.startsWith(room)));

describe('the walls of the house', () => {
  it('are read from a tree that has files and imports', () => {
    expect(files.length).toBeGreaterThan(50);
    expect(inside.length).toBeGreaterThan(100);
  });

  it('give every file a floor', () => {
    expect(files.filter(file => !file.startsWith('src/simulator/') && floorOf(file) === -1)).toEqual([]);
  });

  it('let no import run up', () => {
    const up = inside.filter(
      ({ from, to }) => !from.startsWith('src/simulator/') && floorOf(from) > floorOf(to),
    );
    expect(up.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  it('let plugins import only what anyone may', () => {
    const own = (from: string) => from.split('/').slice(0, 3).join('/');
    const foreign = imports.filter(
      ({ from, to }) =>
        from.startsWith('plugins/') &&
        from !== 'plugins/index.ts' &&
        to !== 'src/plugin.ts' &&
        to !== 'zod' &&
        !to.startsWith('node:') &&
        !to.startsWith(own(from)),
    );
    expect(foreign).toEqual([]);
  });

  it('let only the configuration and the public index know the list of built-ins', () => {
    const users = inside.filter(({ from, to }) => from.startsWith('src/') && to.startsWith('plugins/'));
    expect(
      [...new Set(users.map(({ from }) => from.replace(/^src\/config\/.*/, 'src/config/')))].sort(),
    ).toEqual(['src/config/', 'src/index.ts']);
  });

  it('keep servers and clients out of the pure rooms', () => {
    const impure = imports.filter(
      ({ from, to }) =>
        /^src\/(sse|dialects)\//.test(from) && /^(express|undici|node:(http|net|stream))/.test(to),
    );
    expect(impure).toEqual([]);
  });

  it('let nothing but the command know that there is a simulator', () => {
    const users = inside.filter(
      ({ from, to }) => to.startsWith('src/simulator/') && !from.startsWith('src/simulator/'),
    );
    expect(users.filter(({ from }) => from !== 'src/sidecar.ts')).toEqual([]);
    const known = inside.filter(
      ({ from, to }) =>
        from.startsWith('src/simulator/') &&
        !to.startsWith('src/simulator/') &&
        to !== 'src/diagnostics/suggestion.ts',
    );
    expect(known).toEqual([]);
  });

  it('let nothing that serves know that there is a kit for tests', () => {
    const users = inside.filter(
      ({ from, to }) => to.startsWith('src/testing/') && !from.startsWith('src/testing/'),
    );
    expect(users).toEqual([]);
  });

  it('have no circle of imports at run time', () => {
    const next = new Map(
      files.map(file => [file, inside.filter(i => i.from === file && !i.typeOnly).map(i => i.to)]),
    );
    const done = new Set<string>();
    const circle = (file: string, path: readonly string[]): readonly string[] | undefined => {
      if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
      if (done.has(file)) return undefined;
      for (const to of next.get(file) ?? []) {
        const found = circle(to, [...path, file]);
        if (found) return found;
      }
      done.add(file);
      return undefined;
    };
    expect(files.map(file => circle(file, [])).filter(Boolean)).toEqual([]);
  });
});
