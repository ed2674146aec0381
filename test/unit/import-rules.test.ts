import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../..', import.meta.url));
const files = globSync(['src/**/*.ts', 'plugins/**/*.ts'], { cwd: root });

interface Import {
  from: string;
  to: string;
}

const importsOf = (file: string): Import[] => {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(/^(?:import|export)\s+(?:[^'";]*?\sfrom\s+)?'([^']+)';/gm);
  return [...found].map(([, to]) => ({
    from: file,
    to: to!.startsWith('.') ? normalize(join(dirname(file), to!)) : to!,
  }));
};

const imports = files.flatMap(importsOf);
const inside = imports.filter(({ to }) => to.startsWith('src/') || to.startsWith('plugins/'));

/** From the top layer down; a file imports from its own layer and those below. */
const layers: readonly (readonly string[])[] = [
  ['src/cli/'],
  ['src/index.ts', 'src/lazy-gateway.ts'],
  ['src/gateway.ts', 'src/config-reloads.ts', 'src/dashboard/'],
  ['src/gateway-exchange.ts', 'src/running-configuration.ts'],
  [
    'src/assemble.ts',
    'src/try-plugins.ts',
    'src/gateway-options.ts',
    'src/gateway-process.ts',
    'src/reload.ts',
  ],
  ['src/config/'],
  ['plugins/'],
  ['src/testing/'],
  ['src/plugin.ts'],
  [
    'src/chain/',
    'src/exchange/answer-source.ts',
    'src/exchange/assemble-reply.ts',
    'src/exchange/reply-source.ts',
    'src/exchange/runner.ts',
    'src/exchange/in-flight-set.ts',
  ],
  ['src/server-status.ts'],
  ['src/settlement/', 'src/upstream/', 'src/stage.ts'],
  ['src/inbound/', 'src/outbound/'],
  [
    'src/dialects/',
    'src/exchange.ts',
    'src/exchange/attempt-record.ts',
    'src/exchange/exchange-end.ts',
    'src/exchange/exchange-view.ts',
    'src/exchange/stage-record.ts',
    'src/exchange/log-error.ts',
    'src/exchange/prompt-filter.ts',
    'src/exchange/ignored-parameters.ts',
  ],
  [
    'src/diagnostics/',
    'src/stores/',
    'src/telemetry/',
    'src/catalog/',
    'src/simulator/',
    'src/sse/',
    'src/text/',
    'src/canonical.ts',
    'src/canonical-faults.ts',
    'src/stream.ts',
    'src/end-class.ts',
    'src/errors.ts',
    'src/clock.ts',
    'src/durations.ts',
    'src/json-object.ts',
    'src/money.ts',
    'src/version.ts',
    'src/options.ts',
    'src/refused-promise.ts',
    'src/workers/',
    'src/watch-files.ts',
    'src/small-file.ts',
  ],
];

const layerOf = (file: string): number =>
  layers.findIndex(paths => paths.some(path => file.startsWith(path)));

describe('import rules', () => {
  it('are checked on a source tree with files and imports', () => {
    expect(files.length).toBeGreaterThan(50);
    expect(inside.length).toBeGreaterThan(100);
  });

  it('give every file a layer', () => {
    expect(files.filter(file => !file.startsWith('src/simulator/') && layerOf(file) === -1)).toEqual([]);
  });

  it('forbid imports from a higher layer', () => {
    const up = inside.filter(
      ({ from, to }) => !from.startsWith('src/simulator/') && layerOf(from) > layerOf(to),
    );
    expect(up.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  it('let plugins import only sluice/plugin, zod, Node and their own folder', () => {
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

  it('let only the configuration and the public index import the list of built-ins', () => {
    const users = inside.filter(({ from, to }) => from.startsWith('src/') && to.startsWith('plugins/'));
    expect(
      [...new Set(users.map(({ from }) => from.replace(/^src\/config\/.*/, 'src/config/')))].sort(),
    ).toEqual(['src/config/', 'src/index.ts']);
  });

  it('keep servers and clients out of sse and dialects', () => {
    const impure = imports.filter(
      ({ from, to }) =>
        /^src\/(sse|dialects)\//.test(from) && /^(express|undici|node:(http|net|stream))/.test(to),
    );
    expect(impure).toEqual([]);
  });

  it('let only the command import the simulator', () => {
    const users = inside.filter(
      ({ from, to }) => to.startsWith('src/simulator/') && !from.startsWith('src/simulator/'),
    );
    expect(users.filter(({ from }) => !from.startsWith('src/cli/'))).toEqual([]);
    const known = inside.filter(
      ({ from, to }) =>
        from.startsWith('src/simulator/') &&
        !to.startsWith('src/simulator/') &&
        to !== 'src/diagnostics/suggestion.ts',
    );
    expect(known).toEqual([]);
  });

  it('keep the stage test kit out of everything that serves', () => {
    const users = inside.filter(
      ({ from, to }) => to.startsWith('src/testing/') && !from.startsWith('src/testing/'),
    );
    expect(users).toEqual([]);
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
