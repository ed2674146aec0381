import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { root } from '../support/documents/blocks.ts';
import { linkPackages, productionPackages } from '../support/linked-packages.ts';
import { sidecarConfig } from '../support/sidecar-process.ts';

const oidc = {
  issuer: 'https://id.example.com',
  client_id: 'sluice',
  client_secret: 'secret-of-the-client',
  roles: { ann: 'operator' },
} as const;
const postgres = { records: 'postgres://127.0.0.1:1/x' };

/** What runs in the install: each command to its end in one process, for every start there compiles all sources. */
const program = `
import { exitCodeOf } from './src/cli/command.ts';
import { runCommandLine } from './src/cli/program.ts';
import { openStateStore } from 'sluice';
const results = [];
for (const args of JSON.parse(process.env.COMMANDS)) {
  let [code, output] = [0, ''];
  const say = text => void (output += text + '\\n');
  try {
    await runCommandLine(args, { print: say, remark: say });
  } catch (thrown) {
    say(thrown.message);
    code = exitCodeOf(thrown);
  }
  results.push({ code, output });
}
await openStateStore({ state: 'memory' }).close();
try { openStateStore({ state: 'redis://127.0.0.1:1' }); } catch ({ name, message }) { results.push(name + ' ' + message); }
console.log(JSON.stringify(results));
process.exit();`;

describe('an install without optional packages', () => {
  let directory: string;
  /** What was printed by each command, in their order, and what opening a store in Redis has thrown. */
  let results: [Told, Told, Told, Told, string];
  type Told = { readonly code: number; readonly output: string };

  const fileOf = async (name: string, sections: Parameters<typeof sidecarConfig>[1]): Promise<string> => {
    const file = join(directory, name);
    await writeFile(file, stringify(sidecarConfig('http://127.0.0.1:9/v1', sections)));
    return file;
  };

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sluice-production-'));
    for (const name of ['package.json', 'sluice.example.yaml', 'bin', 'src', 'plugins'])
      await cp(join(root, name), join(directory, name), { recursive: true });
    linkPackages(productionPackages(), join(directory, 'node_modules'));
    const wanting = await fileOf('all.yaml', {
      admin: { port: 0, oidc },
      stores: { ...postgres, state: 'redis://127.0.0.1:1' },
      usage: { estimator: 'gpt-tokenizer' },
      notices: { mail: { host: '127.0.0.1', from: 'sluice@example.com' } },
    });
    const records = await fileOf('records.yaml', { stores: postgres });
    const commands = [
      ['check', '--config', await fileOf('none.yaml', {})],
      ['check', '--config', wanting],
      ['doctor', '--config', records],
      ['keys', 'list', '--config', records],
    ];
    const node = ['--conditions=sluice-source', '--no-warnings', '--input-type=module', '--eval', program];
    // Nothing of this folder will be loaded again.
    const env = { ...process.env, COMMANDS: JSON.stringify(commands), NODE_DISABLE_COMPILE_CACHE: '1' };
    const { stdout } = await promisify(execFile)(process.execPath, node, { cwd: directory, env });
    results = JSON.parse(stdout);
  });
  afterAll(() => rm(directory, { recursive: true }));

  it('checks a configuration that needs none of them', () => {
    expect(results[0]).toEqual({ code: 0, output: expect.stringContaining('ok; ') });
  });

  it('names every option that needs a package, and what to install', () => {
    const { code, output } = results[1];
    expect(code).toBe(1);
    const lines = output.split('\n').filter(line => line.includes('npm install'));
    expect(lines.map(line => line.trim().replace(/ \(line \d+\)/, ''))).toEqual([
      'stores.records: needs the package pg, which is not installed: npm install pg',
      'stores.state: needs the package @redis/client, which is not installed: npm install @redis/client',
      'admin.oidc: needs the package openid-client, which is not installed: npm install openid-client',
      'notices.mail: needs the package nodemailer, which is not installed: npm install nodemailer',
      'usage.estimator: needs the package gpt-tokenizer, which is not installed: npm install gpt-tokenizer',
    ]);
  });

  it('says in doctor to install a package that is missing, not to correct the configuration', () => {
    expect(results[2].output).toMatch(/npm install pg\n +→ install it beside sluice/);
  });

  it('says which package the commands for records need', () => {
    expect(results[3]).toEqual({
      code: 1,
      output:
        'postgres://127.0.0.1:1/x cannot be used: needs the package pg, which is not installed: npm install pg\n',
    });
  });

  it('refuses to open a state store in Redis from code, and opens one in memory', () => {
    expect(results[4]).toBe(
      'ConfigError openStateStore: 1 mistake\n  state: needs the package @redis/client, which is not installed: npm install @redis/client',
    );
  });
});
