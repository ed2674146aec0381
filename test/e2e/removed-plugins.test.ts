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
  for (const part of ['src', 'plugins', 'bin', 'package.json'])
    cpSync(join(root, part), join(tree, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  simulator = await startSimulator();
});
afterAll(async () => {
  await simulator.close();
  rmSync(tree, { recursive: true });
});

/** Takes away the folder of a plugin and what names it in the lines of its list. Returns what puts both back. */
function remove(folder: string, list: string | undefined, names: readonly string[]): () => void {
  rmSync(join(tree, folder), { recursive: true });
  const putBack = () => {
    for (const part of [folder, ...(list ? [list] : [])])
      cpSync(join(root, part), join(tree, part), { recursive: true });
  };
  if (list === undefined) return putBack;
  const lines = readFileSync(join(tree, list), 'utf8').split('\n');
  const kept = lines
    .filter(line => !line.includes(folder.replace('plugins/stores/', './').replace('plugins/', '/')))
    .map(line => names.reduce((text, name) => text.replace(new RegExp(`\\b${name}\\b,? ?`), ''), line));
  writeFileSync(join(tree, list), kept.join('\n'));
  return putBack;
}

describe('without the folder of a plugin the gateway starts and serves', () => {
  it.each([
    ['plugins/dashboard', undefined, []],
    ['plugins/responses-websocket', undefined, []],
    ['plugins/admin-api', 'src/config/built-in-extensions.ts', ['adminApi']],
    ['plugins/notices', 'src/config/built-in-extensions.ts', ['notices']],
    ['plugins/stores/redis', 'plugins/stores/state-stores.ts', ['redisState']],
    ['plugins/stores/postgres', 'plugins/stores/records-stores.ts', ['postgresRecords']],
    ['plugins/stores/sqlite', 'plugins/stores/records-stores.ts', ['sqliteRecords']],
    ['plugins/dialects/messages', 'src/config/built-in-dialects.ts', ['messages', 'messagesCount']],
    ['plugins/dialects/usage', 'src/config/built-in-dialects.ts', ['usage']],
    [
      'plugins/dialects/operations',
      'src/config/built-in-dialects.ts',
      ['textCompletions', 'embeddings', 'rerank'],
    ],
  ] as const)('%s', async (folder, list, names) => {
    const putBack = remove(folder, list, names);
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
    expect(pages.status).toBe(folder === 'plugins/dashboard' ? 404 : 200);
    expect(await stop()).toBe(0);
    putBack();
  });
});
