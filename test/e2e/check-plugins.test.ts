import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { defaultModels } from '../../src/config/example-models.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { createGateway } from '../../src/index.ts';
import { runHere } from '../support/command-here.ts';
import { type FinishedCommand, sidecarConfig } from '../support/sidecar-process.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

const files = {
  'node_modules/unbuilt/package.json': '{"name":"unbuilt","type":"module","exports":"./dist/x.js"}',
  'node_modules/hidden/package.json': '{"name":"hidden","exports":{"import":"./dist/y.js"}}',
  'adapter.mjs': `export default {
    name: 'later', schema: (await import('zod')).z.strictObject({}), async create() { return {}; }
  };`,
  'blind.mjs': `import { defineProvider, openAiAdapter } from 'sluice/plugin';
import { z } from 'zod';
export default defineProvider({ name: 'blind', schema: z.strictObject({}), create: () =>
  openAiAdapter({ providerName: 'blind', messageFields: new Set(['reasoning']) }) });`,
  'stage.mjs': `import { defineStage } from 'sluice/plugin';
import { z } from 'zod';
export default defineStage({ name: 'broken', schema: z.strictObject({}), create() { throw new Error('no database'); } });`,
  'closing.mjs': `import { writeFileSync } from 'node:fs';
import { defineStage } from 'sluice/plugin';
import { z } from 'zod';
export default defineStage({ name: 'closing', schema: z.strictObject({}), create() {
  return { onHeaders() {}, close() { writeFileSync(new URL('closed', import.meta.url), ''); } };
} });`,
  'dialect.mjs': `import { defineDialect } from 'sluice/plugin';
export default defineDialect({ name: 'mine', paths: { '/mine': ['POST'] }, errorBody: () => '', create: () => ({ parse() {} }) });`,
  'imports.mjs': "import './helper.mjs';",
};

describe('sluice check', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sluice-check-'));
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(directory, name)), { recursive: true });
      await writeFile(join(directory, name), text);
    }
    await symlink(root, join(directory, 'node_modules/sluice'));
    await symlink(join(root, 'node_modules/zod'), join(directory, 'node_modules/zod'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  const check = async (config: GatewayConfig): Promise<FinishedCommand> => {
    const file = join(directory, 'sluice.yaml');
    await writeFile(file, stringify(config));
    return runHere(['check', '--config', file]);
  };

  it('names the file that each adapter lacks', async () => {
    const adapters = ['./absent.ts', 'unbuilt', 'hidden', './imports.mjs'];
    const config = sidecarConfig('http://127.0.0.1:9');
    const { upstream } = config.providers;
    const others = adapters.map(adapter => [adapter.replace(/\W/g, ''), { ...upstream, adapter }]);
    const { code, stderr } = await check({
      ...config,
      providers: { upstream, ...Object.fromEntries(others) },
    });
    for (const sentence of [
      'absentts.adapter .*there is no file \\S+/absent\\.ts',
      'unbuilt.adapter .*there is no file \\S+/unbuilt/dist/x\\.js; the package may have to be built',
      'hidden.adapter .*there is no file \\S+/hidden/dist/y\\.js',
      "importsmjs.adapter .*Cannot find module '\\S+/helper\\.mjs' imported from \\S+/imports\\.mjs",
    ])
      expect(stderr).toMatch(new RegExp(`providers\\.${sentence}$`, 'm'));
    expect(stderr).toContain('4 mistakes\n');
    expect(code).not.toBe(0);
  });

  it('creates the plugins and lists all that cannot be created', async () => {
    const sections = {
      server: { open: true },
      accounts: {},
      stages: ['./stage.mjs'],
      dialects: ['./dialect.mjs'],
    };
    const { code, stderr } = await check(
      sidecarConfig('http://127.0.0.1:9', sections, { adapter: './adapter.mjs' }),
    );
    expect(stderr).toContain('3 mistakes\n');
    expect(stderr).toMatch(
      /providers\.upstream\.adapter \(line \d+\): what create of the adapter later returns: must not be a promise; create and all methods/,
    );
    expect(stderr).toMatch(
      /dialects\[0\] \(line \d+\): what create of the dialect mine returns: renderReply: /,
    );
    expect(stderr).toMatch(/stages\[0\] \(line \d+\): create of the stage broken threw: no database/);
    expect(code).not.toBe(0);
  });

  it('refuses a model that takes images at a provider whose adapter cannot send them, as the start does', async () => {
    const [model] = defaultModels('upstream');
    const models = [{ ...model!, architecture: { modality: 'text+image->text' } }];
    const config = sidecarConfig('http://127.0.0.1:9', { models }, { adapter: './blind.mjs' });
    const { code, stderr } = await check(config);
    const sentence =
      /models\[0\]\.upstreams\[0\] \(line \d+\): cannot be sent images, which aion-labs\/aion-3\.5 takes by its modality: the adapter of upstream has no image_url in messageFields/;
    expect(stderr).toMatch(sentence);
    expect(stderr).toContain('1 mistake\n');
    expect(code).not.toBe(0);
    await expect(createGateway(join(directory, 'sluice.yaml'))).rejects.toThrow(sentence);
  });

  it('closes what it has created, and opens neither Redis nor the records', async () => {
    const stores = { state: 'redis://127.0.0.1:9', records: `sqlite:${join(directory, 'made.db')}` };
    const health_check = { path: '/health' };
    const sections = { server: { open: true }, accounts: {}, stages: ['./closing.mjs'], stores };
    const { code, stdout, stderr } = await check(
      sidecarConfig('http://127.0.0.1:9', sections, { health_check }),
    );
    expect([stderr, code]).toEqual(['', 0]);
    expect(stdout).toContain('ok; ');
    expect(existsSync(join(directory, 'closed'))).toBe(true);
    expect(existsSync(join(directory, 'made.db'))).toBe(false);
  });
});
