import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { dashboardAdmin } from '../support/dashboard-visitor.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { serveFile, sidecarConfig } from '../support/sidecar-process.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
let simulator: Simulator;
/** A copy of the sources: one, since Node keeps compiled modules by their paths. */
const tree = mkdtempSync(join(tmpdir(), 'sluice-tree-'));
const environment = { NODE_COMPILE_CACHE: join(tree, 'cache') };

beforeAll(async () => {
  for (const part of ['bin', 'package.json']) cpSync(join(root, part), join(tree, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  simulator = await startSimulator();
});
afterAll(async () => {
  await simulator.close();
  rmSync(tree, { recursive: true });
});

interface Plugin {
  readonly folder: string;
  /** Where it is listed, and under which names. */
  readonly list?: string;
  readonly names?: readonly string[];
}

const [extensions, dialects] = ['src/config/built-in-extensions.ts', 'src/config/built-in-dialects.ts'];
const [states, records] = ['plugins/stores/state-stores.ts', 'plugins/stores/records-stores.ts'];
const plugins: readonly Plugin[] = [
  { folder: 'plugins/dashboard' },
  { folder: 'plugins/responses-websocket' },
  { folder: 'plugins/admin-api', list: extensions, names: ['adminApi'] },
  { folder: 'plugins/notices', list: extensions, names: ['notices'] },
  { folder: 'plugins/stores/redis', list: states, names: ['redisState'] },
  { folder: 'plugins/stores/postgres', list: records, names: ['postgresRecords'] },
  { folder: 'plugins/stores/sqlite', list: records, names: ['sqliteRecords'] },
  { folder: 'plugins/dialects/messages', list: dialects, names: ['messages', 'messagesCount'] },
  { folder: 'plugins/dialects/usage', list: dialects, names: ['usage'] },
  {
    folder: 'plugins/dialects/operations',
    list: dialects,
    names: ['textCompletions', 'embeddings', 'rerank'],
  },
];

/** Each is missing in two of five trees, no two of them in the same two: of any two there is a tree with one and without the other. */
const pairs = [0, 1, 2, 3, 4].flatMap(one => [0, 1, 2, 3, 4].slice(one + 1).map(other => [one, other]));
const trees = [0, 1, 2, 3, 4].map(tree => plugins.filter((_, at) => pairs[at]!.includes(tree)));

/** Takes away the folder of a plugin and what names it in the lines of its list. */
function remove({ folder, list, names = [] }: Plugin): void {
  rmSync(join(tree, folder), { recursive: true });
  if (list === undefined) return;
  const lines = readFileSync(join(tree, list), 'utf8').split('\n');
  const kept = lines
    .filter(line => !line.includes(folder.replace('plugins/stores/', './').replace('plugins/', '/')))
    .map(line => names.reduce((text, name) => text.replace(new RegExp(`\\b${name}\\b,? ?`), ''), line));
  writeFileSync(join(tree, list), kept.join('\n'));
}

it('a plugin is missing in two trees, and another than it in one of them', () => {
  for (const one of plugins)
    for (const other of plugins)
      expect(trees.some(missing => missing.includes(one) && !missing.includes(other))).toBe(one !== other);
});

describe('without the folders of plugins the gateway starts and serves', () => {
  it.each(trees.map(missing => [missing.map(({ folder }) => folder), missing] as const))(
    '%s',
    async (folders, missing) => {
      for (const part of ['src', 'plugins']) cpSync(join(root, part), join(tree, part), { recursive: true });
      for (const plugin of missing) remove(plugin);
      const config = join(tree, 'sluice.yaml');
      writeFileSync(config, stringify(sidecarConfig(simulator.url, { admin: dashboardAdmin() })));
      const { url, adminUrl, stop } = await serveFile(config, environment, tree);
      const reply = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(ask('[[sim:say=Still here]]', { stream: false })),
      });
      expect(await reply.json()).toMatchObject({ choices: [{ message: { content: 'Still here' } }] });
      expect((await fetch(`${adminUrl}/readyz`)).status).toBe(200);
      const pages = await fetch(`${adminUrl}/dashboard/sign-in`);
      expect(pages.status).toBe(folders.includes('plugins/dashboard') ? 404 : 200);
      expect(await stop()).toBe(0);
    },
  );
});
