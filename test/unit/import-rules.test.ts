import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../..', import.meta.url));
const files = globSync(['src/**/*.ts', 'plugins/**/*.ts'], { cwd: root });
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

interface Import {
  from: string;
  to: string;
}

const importsOf = (file: string): Import[] => {
  const found = textOf(file).matchAll(/^(?:import|export)\s+(?:[^'";]*?\sfrom\s+)?'([^']+)';/gm);
  return [...found].map(([, to]) => ({
    from: file,
    to: to!.startsWith('.') ? normalize(join(dirname(file), to!)) : to!,
  }));
};

const imports = files.flatMap(importsOf);
const inside = imports.filter(({ to }) => to.startsWith('src/') || to.startsWith('plugins/'));

/** Plugins of a kind of their own. */
const single = ['admin-api', 'dashboard', 'notices', 'responses-websocket'];

/** The room of a file: a folder of `src`, or one plugin. */
function roomOf(file: string): string {
  const [top, second, third] = file.split('/') as [string, string, string?];
  if (top === 'src' || third === undefined || single.includes(second)) return `${top}/${second}`;
  return `${top}/${second}/${third}`;
}

/** The lists of built-in plugins. */
const lists = [
  'plugins/index.ts',
  'plugins/providers.ts',
  'plugins/stores/records-stores.ts',
  'plugins/stores/state-stores.ts',
];

/** What each room of `src` may import beside itself. The two entries and the command may import everything. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  'src/common': [],
  'src/simulator': ['src/common'],
  'src/telemetry': ['src/common'],
  'src/gateway': ['src/common', 'src/telemetry'],
  'src/records': ['src/common', 'src/telemetry', 'src/gateway'],
  'src/config': ['src/common', 'src/telemetry', 'src/gateway', 'src/records', 'plugins'],
  'src/mount': ['src/common', 'src/telemetry', 'src/gateway', 'src/records', 'src/config'],
  'src/testing': ['src/common', 'src/telemetry', 'src/gateway', 'src/records', 'src/config', 'src/mount'],
};
const entries = [
  'src/index.ts',
  'src/plugin.ts',
  'src/store-plugin.ts',
  'src/published.ts',
  'src/cli',
  ...lists,
];

/** Plugins that are built on another: stores in a database on their schema and SQL, a transport on its format. */
const builtOn: Readonly<Record<string, string>> = {
  'plugins/stores/sqlite': 'plugins/stores/records',
  'plugins/stores/postgres': 'plugins/stores/records',
  'plugins/responses-websocket': 'plugins/dialects/responses',
};

function isAllowed({ from, to }: Import): boolean {
  const [room, other] = [roomOf(from), roomOf(to)];
  if (room === other || entries.includes(room)) return true;
  if (room.startsWith('plugins/'))
    return other === 'src/plugin.ts' || other === 'src/store-plugin.ts' || other === builtOn[room];
  const allowed = mayImport[room] ?? [];
  return allowed.includes(other) || (other.startsWith('plugins/') && allowed.includes('plugins'));
}

describe('import rules', () => {
  it('give the sources nine rooms, and the gateway at most 15,000 lines', () => {
    const rooms = new Set(files.filter(file => file.startsWith('src/')).map(roomOf));
    const loose = files.filter(file => /^src\/[^/]+$/.test(file));
    expect(loose).toHaveLength(4);
    expect(rooms.size).toBeLessThanOrEqual(9 + loose.length);
    const gateway = files.filter(file => file.startsWith('src/gateway/'));
    const lines = gateway.map(file => textOf(file).split('\n').length - 1);
    expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(15_000);
  });

  it('let rooms import those below them, and plugins the public API', () => {
    expect(inside.length).toBeGreaterThan(100);
    expect(inside.filter(one => !isAllowed(one)).map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  it('let plugins import no packages but zod, unless they are made for one', () => {
    const foreign = imports.filter(
      ({ from, to }) =>
        /^plugins\/(stages|providers|dialects)\//.test(from) &&
        to !== 'zod' &&
        !/^(node:|src\/|plugins\/)/.test(to),
    );
    expect(foreign).toEqual([]);
  });

  it('keep servers and clients out of sse and dialects', () => {
    const impure = imports.filter(
      ({ from, to }) =>
        /^(src\/gateway\/(sse|dialects)|plugins\/dialects)\//.test(from) &&
        /^(express|undici|node:(http|net|stream)|src\/common\/node-http)/.test(to),
    );
    expect(impure).toEqual([]);
  });

  it('let values of node:http come from src/common/node-http.ts, because an import of them loads undici', () => {
    const users = files.filter(file => /^import (?!type )[^;]*? from 'node:http';/m.test(textOf(file)));
    expect(users.filter(file => !file.startsWith('src/testing/'))).toEqual([]);
  });

  it('let only the command import the simulator', () => {
    const users = inside.filter(
      ({ from, to }) => to.startsWith('src/simulator/') && !from.startsWith('src/simulator/'),
    );
    expect(users.filter(({ from }) => !from.startsWith('src/cli/'))).toEqual([]);
  });

  it('forbid import cycles, types included', () => {
    expect(filesInCircles()).toEqual([]);
  });
});

/**
 * The files that import each other in circles: what is left after removing, again and again, files that import none of the others and files
 * that none of the others imports.
 */
function filesInCircles(): string[] {
  const left = new Set(files);
  const hasNeighbour = (file: string, end: 'from' | 'to', other: 'from' | 'to') =>
    inside.some(i => i[end] === file && left.has(i[other]));
  for (let size = 0; size !== left.size; ) {
    size = left.size;
    for (const file of left)
      if (!hasNeighbour(file, 'from', 'to') || !hasNeighbour(file, 'to', 'from')) left.delete(file);
  }
  return [...left];
}
