import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type FinishedCommand, runSidecar, sidecarConfig } from '../support/sidecar-process.ts';

const files = {
  'node_modules/unbuilt/package.json': '{"name":"unbuilt","type":"module","exports":"./dist/x.js"}',
  'node_modules/hidden/package.json': '{"name":"hidden","exports":{"import":"./dist/y.js"}}',
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
  });
  afterAll(() => rm(directory, { recursive: true }));

  const check = async (config: GatewayConfig): Promise<FinishedCommand> => {
    const file = join(directory, 'sluice.yaml');
    await writeFile(file, stringify(config));
    return runSidecar(['check', '--config', file]);
  };
  const checkAdapter = (adapter: string) => check(sidecarConfig('http://127.0.0.1:9', {}, { adapter }));

  it.each([
    ['./absent.ts', /adapter \(line \d+\): cannot be loaded: there is no file \S+\/absent\.ts$/m],
    [
      'unbuilt',
      /cannot be loaded: there is no file \S+\/unbuilt\/dist\/x\.js; the package may have to be built$/m,
    ],
    ['hidden', /cannot be loaded: there is no file \S+\/hidden\/dist\/y\.js$/m],
    [
      './imports.mjs',
      /cannot be loaded: Cannot find module '\S+\/helper\.mjs' imported from \S+\/imports\.mjs$/m,
    ],
  ])('names the file that the adapter %s lacks', async (adapter, sentence) => {
    const { code, stderr } = await checkAdapter(adapter);
    expect(stderr).toMatch(sentence);
    expect(stderr).toContain('1 mistake\n');
    expect(code).not.toBe(0);
  });
});
