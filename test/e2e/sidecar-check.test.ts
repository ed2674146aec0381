import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { runHere } from '../support/command-here.ts';
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

/** Mistakes at every depth, each with its path, the line where it stands and what is said of it; test/unit/src/config has all kinds. */
const broken = `server:
  prot: 8080
admin: { port: 70000 }
providers:
  local:
    adapter: vlm
    base_url: http://127.0.0.1:9/v1
models:
  - id: nothing
    reasoning_effort: { supported: true, levels: [low], default: high }
    upstreams:
      - { provider: local, modle: x }
accounts:
  ann: { keys: [ { value: short } ] }
stages:
  - auth
  - validatoin
  - validation: { unknown: 1 }
`;

const mistakes: [string, number, RegExp][] = [
  ['server.prot', 2, /unknown name; .*ccepted here: .*port/],
  ['admin.port', 3, /65535/],
  ['providers.local.adapter', 6, /must be one of: .*vllm/],
  ['models[0].id', 9, /<vendor>\/<model_name>/],
  ['models[0].reasoning_effort.default', 10, /must be one of levels: low/],
  ['models[0].upstreams[0].model', 12, /required/],
  ['models[0].upstreams[0].modle', 12, /unknown name; .*ccepted here: .*model/],
  ['accounts.ann.keys[0]', 14, /8 characters/],
  ['stages[1]', 17, /there is no stage 'validatoin'; did you mean 'validation'\? Built in are: .*validation/],
  ['stages[2].validation.unknown', 18, /unknown name; .*ccepted here: .*unknown_parameters/],
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

const check = async (text: string, environment: Readonly<Record<string, string>> = {}) =>
  runHere(['check', '--config', await fileOf(text)], environment);

const digest = hash('sha256', clientKey, 'hex').toUpperCase();
const unknownNames = good
  .replace('provider: upstream', 'provider: downstream')
  .replace(
    '\naccounts:\n  tester:\n',
    `\naccounts:\n  second: { keys: [ { sha256: ${digest} } ] }\n  tester:\n    plan: gold\n`,
  );
const misleading = good
  .replace(/server:\n {2}port: 0\n/, 'server:\n  port: 9000\n')
  .replace(/admin:\n {2}port: 0\n/, 'admin:\n  port: 9000\n')
  .replace(/value: .*/, 'value: "${DEMO_KEY-sk-development}"')
  .concat('stages: [validation]\n');
const malformed = 'server: {\n  port: 1\nmodels: [\n';
const provider = /models\[0\]\.upstreams\[0\]\.provider \(line \d+\): .*'downstream'.*upstream/;

describe('sluice check', () => {
  it('confirms a valid configuration and summarizes it', async () => {
    expect(await check(good)).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /: ok; models: 6, providers: 1, stages: error-envelope, auth, validation/,
      ),
      stderr: '',
    });
  });

  it('reports every mistake at once, with its path, its line and the accepted values', async () => {
    const file = await fileOf(broken);
    const { code, stdout, stderr } = await runHere(['check', '--config', file]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(file);
    for (const mistake of mistakes) expectMistake(stderr, mistake);
  });

  it.each<[string, string, RegExp[]]>([
    [
      'references to unknown names',
      unknownNames,
      [
        provider,
        /accounts\.tester\.plan \(line \d+\): .*'gold'/,
        /accounts\.tester\.keys\[0\] \(line \d+\): .*same key.*'second'/,
      ],
    ],
    [
      'them together with other mistakes',
      `${unknownNames}unknown: 1\n`,
      [/unknown \(line \d+\): unknown name/, provider],
    ],
    [
      'a variable that is not set',
      good.replace(/api_key: .*/, 'api_key: ${SLUICE_TEST_KEY}'),
      [/providers\.upstream\.api_key \(line \d+\): .*SLUICE_TEST_KEY is not set/],
    ],
    [
      'half an expansion, a chain without auth, and a port twice',
      misleading,
      [
        /accounts\.tester\.keys\[0\]\.value \(line \d+\): has a \$\{ that expands to nothing; /,
        /stages \(line \d+\): must list auth: .* write server: \{ open: true \}/,
        /admin\.port \(line \d+\): is the port of server\.port as well, 9000/,
      ],
    ],
    ['where YAML is malformed', malformed, [/\(line \d+\): /]],
  ])('reports %s', async (_, text, said) => {
    const { code, stderr } = await check(text);
    expect(code).toBe(1);
    for (const each of said) expect(stderr).toMatch(each);
  });

  it('says how a plugin that imports or exports is loaded from a package of CommonJS', async () => {
    const stages = ['./imports.ts', './exports.ts'];
    const file = await fileOf(stringify(sidecarConfig('http://127.0.0.1:9/v1', { stages })));
    const beside = (name: string, text: string) => writeFileSync(join(dirname(file), name), text);
    beside('package.json', '{ "type": "commonjs" }');
    beside('imports.ts', "import { defineStage } from 'sluice/plugin';");
    beside('exports.ts', 'export default {};');
    // Node alone loads modules in this way.
    const { code, stderr } = await runSidecar(['check', '--config', file]);
    expect(code).toBe(1);
    for (const at of [0, 1])
      expect(stderr).toMatch(
        new RegExp(
          `stages\\[${at}\\] .*cannot be loaded: .*; name the file \\.mts or \\.mjs, or run npm pkg set`,
        ),
      );
  });

  it('expands variables, uses defaults of unset ones, and warns about settings without effect', async () => {
    const text = good
      .replace(/api_key: .*/, 'api_key: ${SLUICE_TEST_KEY}')
      .replace(/value: .*/, 'value: "${SLUICE_TEST_UNSET:-sk-development}"')
      .concat('stores: { ledger_queue: ./queue }\n');
    expect(await check(text, { SLUICE_TEST_KEY: 'sk-1' })).toEqual({
      code: 0,
      stdout: expect.stringContaining('warning: stores.ledger_queue: has no effect: records are in memory\n'),
      stderr: '',
    });
  });

  it.each<[string, string, object]>([
    [
      'a good one',
      good,
      {
        code: 0,
        ok: true,
        mistakes: [],
        providers: ['upstream'],
        models: expect.arrayContaining(['aion-labs/aion-3.5']),
        stages: expect.arrayContaining(['auth']),
      },
    ],
    [
      'a broken one',
      broken,
      {
        code: 1,
        ok: false,
        mistakes: expect.arrayContaining([
          { path: 'server.prot', line: 2, message: expect.stringContaining('unknown name') },
          { path: 'stages[1]', line: 17, message: expect.stringContaining('did you mean') },
        ]),
      },
    ],
    [
      'a malformed one',
      malformed,
      {
        code: 1,
        mistakes: expect.arrayContaining([{ path: '', line: 3, message: expect.any(String) }]),
      },
    ],
  ])('prints the same as one object for programs: %s', async (_, text, expected) => {
    const file = await fileOf(text);
    const { code, stdout, stderr } = await runHere(['check', '--format', 'json', '-c', file]);
    expect(stderr).toBe('');
    expect({ code, ...JSON.parse(stdout) }).toMatchObject(expected);
  });

  it.each<[string, string[], number, RegExp]>([
    ['no file', ['check'], 2, /required option '-c, --config <FILE>' not specified/],
    ['a file that is not there', ['check', '-c', '/nowhere/sluice.yaml'], 1, /cannot be read: ENOENT/],
    ['an unknown command', ['chek'], 2, /no command 'chek'; did you mean 'check'\?[\s\S]* {2}check /],
    ['an unknown flag of the simulator', ['simulate', '--prot', '1'], 2, /Did you mean --port\?/],
    ['a port that is none', ['--port', '99999'], 2, /--port must be a number from 0 to 65535/],
    ['an address that is none', ['--host', '', '--config', 'x'], 2, /--host must be an address/],
    ['no file of the records', ['keys', 'list'], 2, /required option '-c, --config <FILE>' not specified/],
  ])('ends for %s', async (_, args, expected, says) => {
    const { code, stdout, stderr } = await runHere(args);
    expect([code, stdout]).toEqual([expected, '']);
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it('prints its help, once for each way to ask', async () => {
    const { code, stdout } = await runHere(['--help']);
    expect(code).toBe(0);
    for (const word of ['--config FILE', 'check', 'simulate', '--port', '--admin-port', 'UPSTREAM_URL'])
      expect(stdout).toContain(word);
    for (const name of ['check', 'keys', 'accounts', 'usage']) {
      expect(stdout).toContain(`  ${name} `);
      for (const args of [
        ['help', name],
        [name, '--help'],
      ]) {
        const help = await runHere(args);
        expect([name, help.code, help.stdout.match(/^Usage: .*/gm)]).toEqual([
          name,
          0,
          [expect.stringContaining(`Usage: sluice ${name}`)],
        ]);
      }
    }
    for (const name of ['keys', 'accounts'])
      expect((await runHere([name, 'create', '--help'])).stdout).toContain(`Usage: sluice ${name} create`);
  });

  it('ends quietly when the reader of its result has had enough', async () => {
    const command = `'${process.execPath}' --conditions=sluice-source src/cli/sidecar.ts schema | true; echo "codes \${PIPESTATUS[*]}"`;
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', command]);
    expect({ stdout, stderr }).toEqual({ stdout: 'codes 0 0\n', stderr: '' });
  });
});

describe('a process', () => {
  it('ends with the code 2 for an unknown flag, and names the one that is like it', async () => {
    const { code, stdout, stderr } = await runSidecar(['--confg', 'x']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(
      /^sluice serve: unknown option '--confg'\n\(Did you mean --config\?\)[\s\S]*--admin-port/,
    );
  });
});
