import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { clientKey } from '../support/gateway-under-test.ts';
import { configFile, runSidecar, sidecarConfig } from '../support/sidecar-process.ts';

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function fileOf(text: string): Promise<string> {
  const { file, remove } = await configFile(text);
  cleanUps.push(remove);
  return file;
}

const good = stringify(sidecarConfig('http://127.0.0.1:9/v1'));

/** Every kind of mistake, each with its path and what is said of it. The line is where the mistake stands. */
const broken = `server:
  prot: 8080
  non_stream_timeout_ms: -1
admin: { port: 70000 }
log: { level: loud }
providers:
  local:
    adapter: vlm
    base_url: http://127.0.0.1:9/v1
  other:
    adapter: openai
    base_url: ftp://127.0.0.1/v1
    max_tokens_field: tokens
models:
  - id: nothing
    name: Model
    date: 2026-13-01
    context_length: 0
    max_completion_tokens: 1.5
    pricing: { prompt: 0.0000007, completion: "1e-7" }
    reasoning: true
    tool_calls: true
    reasoning_effort: { supported: true, levels: [low], default: high }
    upstreams:
      - { provider: local, modle: x }
accounts:
  ann: { keys: [ { value: short }, { sha256: abc } ] }
stages:
  - auth
  - validatoin
  - validation: { max_choices: 0, unknown: 1 }
`;

const mistakes: [string, number, RegExp][] = [
  ['server.prot', 2, /unknown name; .*ccepted here: .*port/],
  ['server.non_stream_timeout_ms', 3, /must be above 0, not -?\d/],
  ['admin.port', 4, /65535/],
  ['log.level', 5, /silent/],
  ['providers.local.adapter', 8, /must be one of: .*vllm/],
  ['providers.other.base_url', 12, /http:\/\/ or https:\/\//],
  ['providers.other.max_tokens_field', 13, /max_completion_tokens/],
  ['models[0].id', 15, /<vendor>\/<model_name>/],
  ['models[0].date', 17, /date/i],
  ['models[0].context_length', 18, /must be above 0, not -?\d/],
  ['models[0].max_completion_tokens', 19, /int/],
  ['models[0].pricing.prompt', 20, /string/],
  ['models[0].pricing.completion', 20, /decimal string without exponent/],
  ['models[0].reasoning_effort.default', 23, /must be one of levels: low/],
  ['models[0].upstreams[0].model', 25, /required/],
  ['models[0].upstreams[0].modle', 25, /unknown name; .*ccepted here: .*model/],
  ['accounts.ann.keys[0]', 27, /8 characters/],
  ['accounts.ann.keys[1]', 27, /64 hexadecimal/],
  ['stages[1]', 30, /there is no stage 'validatoin'; did you mean 'validation'\? Built in are: .*validation/],
  ['stages[2].validation.max_choices', 31, /must be at least 1, not 0/],
  ['stages[2].validation.unknown', 31, /unknown name; .*ccepted here: .*unknown_parameters/],
];

function expectMistake(output: string, [path, line, says]: (typeof mistakes)[number]): void {
  const told = output
    .split('\n')
    .filter(text => text.startsWith(`  ${path} `) || text.startsWith(`  ${path}.`));
  expect({ path, told: told.join('\n') }).toEqual({
    path,
    told: expect.stringMatching(new RegExp(`\\(line ${line}\\): .*(${says.source})`, says.flags)),
  });
}

describe('sluice check', () => {
  it('confirms a valid configuration and summarizes it', async () => {
    const file = await fileOf(good);
    const { code, stdout, stderr } = await runSidecar(['check', '--config', file]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/: ok; models: 6, providers: 1, stages: error-envelope, auth, validation/);
  });

  it('reports every mistake at once, with its path, its line and the accepted values', async () => {
    const file = await fileOf(broken);
    const { code, stdout, stderr } = await runSidecar(['check', '--config', file]);
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toContain(file);
    for (const mistake of mistakes) expectMistake(stderr, mistake);
  });

  it.each([
    ['imports', "import { defineStage } from 'sluice/plugin';"],
    ['exports', 'export default {};'],
  ])('says how a plugin that %s is loaded from a package of CommonJS', async (_, text) => {
    const file = await fileOf(stringify(sidecarConfig('http://127.0.0.1:9/v1', { stages: ['./mine.ts'] })));
    writeFileSync(join(dirname(file), 'package.json'), '{ "type": "commonjs" }');
    writeFileSync(join(dirname(file), 'mine.ts'), text);
    const { code, stderr } = await runSidecar(['check', '--config', file]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /stages\[0\] \(line \d+\): cannot be loaded: .*; name the file \.mts or \.mjs, or run npm pkg set/,
    );
  });

  it('reports references to unknown names', async () => {
    const digest = hash('sha256', clientKey, 'hex').toUpperCase();
    const second = `  second: { keys: [ { sha256: ${digest} } ] }\n`;
    const config = good
      .replace('provider: upstream', 'provider: downstream')
      .replace('\naccounts:\n  tester:\n', `\naccounts:\n${second}  tester:\n    plan: gold\n`);
    const { code, stderr } = await runSidecar(['check', '--config', await fileOf(config)]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/models\[0\]\.upstreams\[0\]\.provider \(line \d+\): .*'downstream'.*upstream/);
    expect(stderr).toMatch(/accounts\.tester\.plan \(line \d+\): .*'gold'/);
    expect(stderr).toMatch(/accounts\.tester\.keys\[0\] \(line \d+\): .*same key.*'second'/);
  });

  it('reports them together with all other mistakes', async () => {
    const config = `${good.replace('provider: upstream', 'provider: downstream')}unknown: 1\n`;
    const { code, stderr } = await runSidecar(['check', '--config', await fileOf(config)]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/unknown \(line \d+\): unknown name/);
    expect(stderr).toMatch(/models\[0\]\.upstreams\[0\]\.provider \(line \d+\): .*'downstream'/);
  });

  it('reports variables that are not set and expands those that are', async () => {
    const file = await fileOf(good.replace(/api_key: .*/, 'api_key: ${SLUICE_TEST_KEY}'));
    const missing = await runSidecar(['check', '-c', file]);
    expect(missing.code).toBe(1);
    expect(missing.stderr).toMatch(/providers\.upstream\.api_key \(line \d+\): .*SLUICE_TEST_KEY is not set/);
    expect((await runSidecar(['check', '-c', file], { SLUICE_TEST_KEY: 'sk-1' })).code).toBe(0);
  });

  it('refuses misleading settings: half an expansion, a chain without auth, a port twice', async () => {
    const server = 'server:\n  port: 9000\n';
    const misleading = good
      .replace(/server:\n {2}port: 0\n/, server)
      .replace(/admin:\n {2}port: 0\n/, 'admin:\n  port: 9000\n')
      .replace(/value: .*/, 'value: "${DEMO_KEY-sk-development}"');
    expect(misleading).toContain(server);
    const { code, stderr } = await runSidecar([
      'check',
      '-c',
      await fileOf(`${misleading}stages: [validation]\n`),
    ]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /accounts\.tester\.keys\[0\]\.value \(line \d+\): has a \$\{ that expands to nothing; /,
    );
    expect(stderr).toMatch(/stages \(line \d+\): must list auth: .* write server: \{ open: true \}/);
    expect(stderr).toMatch(/admin\.port \(line \d+\): is the port of server\.port as well, 9000/);
  });

  it('uses the default of an unset variable and warns about settings without effect', async () => {
    const file = await fileOf(
      good
        .replace(/value: .*/, 'value: "${SLUICE_TEST_KEY:-sk-development}"')
        .concat('stores: { ledger_queue: ./queue }\n'),
    );
    const { code, stdout, stderr } = await runSidecar(['check', '-c', file]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('warning: stores.ledger_queue: has no effect: records are in memory\n');
  });

  it('prints the same as one object for programs', async () => {
    const json = async (text: string) => {
      const file = await fileOf(text);
      const { code, stdout, stderr } = await runSidecar(['check', '--format', 'json', '-c', file]);
      expect(stderr).toBe('');
      return { code, ...JSON.parse(stdout) };
    };
    expect(await json(good)).toMatchObject({
      code: 0,
      ok: true,
      mistakes: [],
      providers: ['upstream'],
      models: expect.arrayContaining(['aion-labs/aion-3.5']),
      stages: expect.arrayContaining(['auth']),
    });
    expect(await json(broken)).toMatchObject({
      code: 1,
      ok: false,
      mistakes: expect.arrayContaining([
        { path: 'server.prot', line: 2, message: expect.stringContaining('unknown name') },
        { path: 'stages[1]', line: 30, message: expect.stringContaining('did you mean') },
      ]),
    });
    expect(await json('server: {\n  port: 1\nmodels: [\n')).toMatchObject({
      code: 1,
      mistakes: expect.arrayContaining([{ path: '', line: 3, message: expect.any(String) }]),
    });
  });

  it('ends quietly when the reader of its result has had enough', async () => {
    const command = `'${process.execPath}' --conditions=sluice-source src/cli/sidecar.ts schema | true; echo "codes \${PIPESTATUS[*]}"`;
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', command]);
    expect({ stdout, stderr }).toEqual({ stdout: 'codes 0 0\n', stderr: '' });
  });

  it.each<[string, string[], RegExp]>([
    ['no file', ['check'], /required option '-c, --config <FILE>' not specified/],
    ['an unknown command', ['chek'], /no command 'chek'; did you mean 'check'\?[\s\S]* {2}check /],
    [
      'an unknown flag',
      ['--confg', 'x'],
      /^sluice serve: unknown option '--confg'\n\(Did you mean --config\?\)[\s\S]*--admin-port/,
    ],
    ['an unknown flag of the simulator', ['simulate', '--prot', '1'], /Did you mean --port\?/],
    ['a port that is none', ['--port', '99999'], /--port must be a number from 0 to 65535/],
    ['an address that is none', ['--host', '', '--config', 'x'], /--host must be an address/],
  ])('ends with the code 2 for %s', async (_, args, says) => {
    const { code, stdout, stderr } = await runSidecar(args);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it('reports where YAML is malformed', async () => {
    const { code, stderr } = await runSidecar([
      'check',
      '-c',
      await fileOf('server: {\n  port: 1\nmodels: [\n'),
    ]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/\(line \d+\): /);
  });

  it('ends with the code 1 for a file that is not there', async () => {
    const { code, stdout, stderr } = await runSidecar(['check', '--config', '/nowhere/sluice.yaml']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/cannot be read: ENOENT/);
  });

  it('prints its help, once for each way to ask', async () => {
    const { code, stdout } = await runSidecar(['--help']);
    expect(code).toBe(0);
    expect((await runSidecar(['help', 'check'])).stdout.match(/^Usage: /gm)).toHaveLength(1);
    for (const word of ['--config FILE', 'check', 'simulate', '--port', '--admin-port', 'UPSTREAM_URL'])
      expect(stdout).toContain(word);
  });
});

describe('a sidecar at startup', () => {
  it('refuses a broken configuration and reports every mistake', async () => {
    const { code, stdout, stderr } = await runSidecar(['--config', await fileOf(broken)]);
    expect(code).toBe(1);
    expect(stdout).toBe('');
    for (const mistake of mistakes) expectMistake(stderr, mistake);
  });

  it('reports which address is in use', async () => {
    const server: Server = createServer().listen(0, '127.0.0.1');
    await new Promise(resolve => server.once('listening', resolve));
    cleanUps.push(() => new Promise(resolve => server.close(resolve)));
    const { port } = server.address() as AddressInfo;
    const taken = stringify(sidecarConfig('http://127.0.0.1:9/v1', { admin: { port } }));
    const { code, stderr } = await runSidecar(['--config', await fileOf(taken)]);
    expect(code).toBe(1);
    expect(stderr).toContain(`127.0.0.1:${port} is in use`);
  });
});
