import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultModels } from '../../../../src/catalog/default-models.ts';
import { ConfigError, shownIssue } from '../../../../src/config/issue.ts';
import { loadConfig } from '../../../../src/config/load.ts';
import type { GatewayConfig } from '../../../../src/config/schema.ts';

let directory: string;
const ownStage = (declared: string) =>
  `${declared} Object.assign(() => ({ plan: { name: 'mine', create: () => ({ name: 'mine' }) } }), { stageName: 'mine', schema: {} });\n`;
const packages = { 'sluice-mine': '"exports": "./index.js"', '@me/mine': '"main": "index.js"' };

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-config-'));
  for (const [name, field] of Object.entries(packages)) {
    const home = join(directory, 'node_modules', name);
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'package.json'), `{ "name": "${name}", "type": "module", ${field} }`);
    writeFileSync(join(home, 'index.js'), ownStage('export const mine ='));
  }
});
afterAll(() => rmSync(directory, { recursive: true }));

/** A configuration without mistakes, with `changes`. */
function config(changes: object = {}): GatewayConfig {
  return {
    providers: { local: { adapter: 'vllm', base_url: 'http://127.0.0.1:8000/v1' } },
    models: defaultModels('local').slice(0, 1),
    ...changes,
  } as GatewayConfig;
}
const model = (changes: object) => config({ models: [{ ...config().models[0], ...changes }] });

/** The mistakes of a configuration, as they are shown. */
async function mistakes(source: GatewayConfig | string, environment = {}): Promise<string[]> {
  const error: unknown = await loadConfig(source, environment).catch(thrown => thrown);
  if (!(error instanceof ConfigError)) throw new Error('no mistake was found', { cause: error });
  return error.issues.map(shownIssue);
}

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

const entry = `
    name: Small
    date: 2026-09-23
    context_length: 1000
    max_completion_tokens: 100
    pricing: { prompt: "0.1", completion: "0.2" }
    reasoning: false
    tool_calls: false
    reasoning_effort: { supported: false, levels: [], default: null }
    upstreams: [{ provider: local, model: small }]
`;

describe('a configuration without mistakes', () => {
  it('is completed with the defaults', async () => {
    const { server, admin, stages, models, providers, accounts, warnings } = await loadConfig(config());
    expect(server).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      max_body_bytes: 16_777_216,
      non_stream_timeout_ms: 120_000,
      stream_commit_ms: 10_000,
      keepalive_ms: 15_000,
      max_background_ms: 900_000,
    });
    expect(admin).toEqual({ host: '127.0.0.1', port: 8081 });
    expect(stages.map(({ name }) => name)).toEqual([
      'error-envelope',
      'auth',
      'validation',
      'request-rewrite',
      'stream-rechunk',
      'reasoning-split',
    ]);
    expect(models[0]).toMatchObject({
      starts_in_reasoning: false,
      on_client_gone: 'complete',
      extra_parameters: [],
    });
    expect(providers[0]).toMatchObject({
      name: 'local',
      config: { idle_timeout_ms: 600_000, max_event_bytes: 1_048_576 },
    });
    expect([accounts, warnings]).toEqual([{}, []]);
  });

  it("tells the adapter's options from those of every provider", async () => {
    const local = {
      adapter: 'openai',
      base_url: 'http://a/v1',
      api_key: 'k',
      max_tokens_field: 'max_completion_tokens',
    };
    const { providers } = await loadConfig(config({ providers: { local } }));
    expect(providers[0]!.options).toEqual({
      provider_name: 'openai',
      max_tokens_field: 'max_completion_tokens',
    });
    expect(providers[0]!.config).not.toHaveProperty('max_tokens_field');
  });

  it('gives a model the extra parameters of its providers', async () => {
    const provider = (extra_parameters: string[]) => ({
      adapter: 'vllm',
      base_url: 'http://a/v1',
      extra_parameters,
    });
    const upstreams = ['a', 'b'].map(name => ({ provider: name, model: 'm' }));
    const providers = { a: provider(['top_k']), b: provider(['top_k', 'min_p']), c: provider(['other']) };
    const { models } = await loadConfig({ ...model({ upstreams }), providers } as GatewayConfig);
    expect(models[0]!.extra_parameters).toEqual(['top_k', 'min_p']);
  });

  it('is not changed', async () => {
    const given = config({ accounts: { a: { keys: [{ value: '${A_KEY_OF_MINE}' }] } } });
    const before = structuredClone(given);
    await loadConfig(given, { A_KEY_OF_MINE: 'sk-12345678' });
    expect(given).toEqual(before);
  });

  it('is read from YAML and from JSON', async () => {
    const text = `providers: { local: { adapter: vllm, base_url: "http://a/v1" } }\nmodels:\n  - id: a/small${entry}`;
    for (const path of [file('a.yaml', text), file('a.json', JSON.stringify(config()))])
      expect((await loadConfig(path)).models).toHaveLength(1);
  });

  it('may name things that have no effect yet, which is said', async () => {
    const { warnings } = await loadConfig(
      config({
        plans: { free: { tokens_per_day: 5 } },
        stores: { state: 'redis://x', records: 'sqlite:./a.db' },
      }),
    );
    expect(warnings).toEqual([
      expect.stringMatching(/^plans\.free: tokens_per_day /),
      expect.stringMatching(/^stores\.state: /),
      expect.stringMatching(/^stores\.records: /),
    ]);
  });
});

describe('a mistake is told with its path and what is accepted', () => {
  const local = config().providers.local!;
  const account = (changes: object) => config({ accounts: { demo: changes } });

  it.each<[string, object, string[]]>([
    [
      'an unknown name',
      config({ sever: {} }),
      [
        'sever: unknown name; accepted here: server, admin, log, usage, providers, models, plans, accounts, stages, stores',
      ],
    ],
    ['… below', config({ admin: { prot: 1 } }), ['admin.prot: unknown name; accepted here: host, port']],
    [
      '… of a provider',
      config({ providers: { local: { ...local, max_tokens_field: 'max_tokens' } } }),
      [
        'providers.local.max_tokens_field: unknown name; accepted here: base_url, api_key, headers, extra_parameters, connect_timeout_ms, idle_timeout_ms, max_event_bytes, pass_upstream_429, max_reply_bytes, adapter',
      ],
    ],
    [
      '… of a key',
      account({ keys: [{ valeu: 'sk-12345678' }] }),
      ['accounts.demo.keys[0]: must be an object with one name: value or sha256'],
    ],
    ['a missing part', { models: config().models }, ['providers: is required: record']],
    [
      'a wrong type',
      config({ server: { port: 'x' } }),
      [expect.stringMatching(/^server\.port: .*number/) as unknown as string],
    ],
    ['no models', config({ models: [] }), ['models: must list at least one model']],
    [
      'another adapter',
      config({ providers: { local: { ...local, adapter: 'vlm' } } }),
      ['providers.local.adapter: must be one of: openai, vllm'],
    ],
    [
      'no adapter',
      config({ providers: { local: { base_url: 'http://a' } } }),
      ['providers.local.adapter: must be one of: openai, vllm'],
    ],
    [
      'another address',
      config({ providers: { local: { ...local, base_url: 'ftp://a' } } }),
      ['providers.local.base_url: must be an http:// or https:// address'],
    ],
    [
      'a short key',
      account({ keys: [{ value: 'short' }] }),
      ['accounts.demo.keys[0].value: must have at least 8 characters'],
    ],
    [
      'no digest',
      account({ keys: [{ sha256: 'xyz' }] }),
      ['accounts.demo.keys[0].sha256: must be the SHA-256 of the key: 64 hexadecimal digits'],
    ],
    [
      'a price with an exponent',
      model({ pricing: { prompt: '7e-7', completion: '1' } }),
      ['models[0].pricing.prompt: must be a decimal string without exponent, such as "0.0000007"'],
    ],
    [
      'an id without a vendor',
      model({ id: 'small' }),
      ['models[0].id: must have the form <vendor>/<model_name>'],
    ],
    [
      'starts_in_reasoning',
      model({ starts_in_reasoning: 'yes' }),
      ['models[0].starts_in_reasoning: must be true, false or "auto"'],
    ],
    [
      'no such provider',
      model({ upstreams: [{ provider: 'remote', model: 'm' }] }),
      ["models[0].upstreams[0].provider: there is no provider 'remote'; there are: local"],
    ],
    [
      'an effort that is no level',
      model({ effort_map: { huge: {} } }),
      ['models[0].effort_map.huge: is not one of reasoning_effort.levels'],
    ],
    [
      'the same model twice',
      config({ models: [config().models[0], config().models[0]] }),
      ['models[1].id: aion-labs/aion-3.5 is listed twice'],
    ],
    [
      'no such plan',
      account({ plan: 'gold' }),
      ["accounts.demo.plan: there is no plan 'gold'; there are: (none)"],
    ],
  ])('%s', async (_, given, expected) => {
    expect(await mistakes(given as GatewayConfig)).toEqual(expected);
  });

  const secret = { value: 'sk-12345678' };
  it.each([
    ['written twice', secret, secret],
    ['once as its digest', secret, { sha256: createHash('sha256').update(secret.value).digest('hex') }],
    ['as digests in small and capital letters', { sha256: 'ab'.repeat(32) }, { sha256: 'AB'.repeat(32) }],
  ])('a key of two accounts, %s', async (_, one, other) => {
    expect(await mistakes(config({ accounts: { a: { keys: [one] }, b: { keys: [other] } } }))).toEqual([
      "accounts.b.keys[0]: the same key belongs to account 'a' already",
    ]);
  });
});

describe('all mistakes', () => {
  const text = `server:
  port: 99999
  hots: here
providers:
  local:
    adapter: vllm
    base_url: "127.0.0.1"
  keyed:
    adapter: openai
    base_url: http://a/v1
    api_key: \${KEY_THAT_IS_NOT_SET}
modelz:
  - none
models:
  - id: a/small${entry}    extra: 1
stages:
  - auth
  - 7
  - validation:
      max_choices: 0
      strict: true
  - auth
  - nonsense
`;

  it('are told at once, each with its line', async () => {
    const expected = [
      /^server\.port \(line 2\): .*65535/,
      /^server\.hots \(line 3\): unknown name; accepted here: host, port, /,
      /^providers\.local\.base_url \(line 7\): must be an http/,
      /^providers\.keyed\.api_key \(line 11\): the environment variable KEY_THAT_IS_NOT_SET is not set$/,
      /^modelz \(line 12\): unknown name; accepted here: server, /,
      /^models\[0\]\.extra \(line 25\): unknown name; accepted here: id, name, /,
      /^stages\[1\] \(line 28\): must be the name of a stage/,
      /^stages\[2\]\.validation\.max_choices \(line 30\): .*1/,
      /^stages\[2\]\.validation\.strict \(line 31\): unknown name; accepted here: unknown_parameters, /,
      /^stages\[3\] \(line 32\): the stage auth is listed twice$/,
      /^stages\[4\] \(line 33\): there is no stage 'nonsense'; built in are: error-envelope, auth, /,
    ];
    const found = await mistakes(file('wrong.yaml', text), {});
    for (const pattern of expected) expect(found).toContainEqual(expect.stringMatching(pattern));
    expect(found).toHaveLength(expected.length);
  });

  it('are counted in the message, under the name of the file', async () => {
    const path = file('two.yaml', 'modelz: 1\nprovider: 1\n');
    await expect(loadConfig(path)).rejects.toThrow(/two\.yaml: 4 mistakes\n {2}\S/);
    await expect(loadConfig(config({ sever: 1 }))).rejects.toThrow(/^configuration: 1 mistake\n {2}sever: /);
  });

  it.each([
    ['that is missing', 'absent.yaml', undefined, '(top level): cannot be read: ENOENT'],
    ['that is not YAML', 'broken.yaml', 'server: {\nmodels: [', /^\(top level\) \(line \d\): /],
    [
      'with a name given twice',
      'twice.yaml',
      'log: {}\nserver: {}\nlog: {}\n',
      /^\(top level\) \(line 3\): .*unique/i,
    ],
    ['that is empty', 'empty.yaml', '', 'providers: is required: record'],
    ['that is a text', 'text.yaml', 'hello', /^\(top level\)( \(line 1\))?: .*expected object/],
  ])('of a file %s', async (_, name, text, expected) => {
    const path = text === undefined ? join(directory, name) : file(name, text);
    const [first] = await mistakes(path);
    if (typeof expected === 'string') expect(first).toBe(expected);
    else expect(first).toMatch(expected);
  });
});

describe('environment variables', () => {
  it('are expanded in any string, and nowhere twice', async () => {
    const given = config({
      providers: {
        local: { adapter: 'vllm', base_url: 'http://${HOST_OF_IT}:8000/v1', headers: { 'x-a': '${A}-${A}' } },
      },
    });
    const { providers } = await loadConfig(given, { HOST_OF_IT: 'gpu-1', A: '${B}' });
    expect(providers[0]!.config).toMatchObject({
      base_url: 'http://gpu-1:8000/v1',
      headers: { 'x-a': '${B}-${B}' },
    });
  });

  it('that are missing are one mistake each, where they stand', async () => {
    const keys = [{ value: '${FIRST}' }, { value: 'sk-${SECOND}' }];
    expect(await mistakes(config({ accounts: { a: { keys } } }), {})).toEqual([
      'accounts.a.keys[0].value: the environment variable FIRST is not set',
      'accounts.a.keys[1].value: the environment variable SECOND is not set',
    ]);
  });

  it('reach the options of stages, also of a configuration that is wrong elsewhere', async () => {
    const stages = [{ validation: { unknown_parameters: '${POLICY}' } }];
    const { stages: plans } = await loadConfig(config({ stages }), { POLICY: 'reject' });
    expect(plans.map(({ name }) => name)).toEqual(['validation']);
    expect(await mistakes(config({ stages, models: [] }), { POLICY: 'reject' })).toEqual([
      'models: must list at least one model',
    ]);
  });
});

describe('stages', () => {
  const fixtures = join(import.meta.dirname, '../../../fixtures/stages');
  const named = async (stages: unknown[]) =>
    (await loadConfig(config({ stages }))).stages.map(({ name }) => name);

  it('are taken in the order given', async () => {
    expect(
      await named(['validation', { auth: null }, { 'error-envelope': { openai_fields: true } }]),
    ).toEqual(['validation', 'auth', 'error-envelope']);
    expect(await named([])).toEqual([]);
  });

  it('may be modules beside the configuration', async () => {
    const path = join(fixtures, 'shout.ts');
    expect(await named(['auth', path])).toEqual(['auth', 'shout']);
    expect(await mistakes(config({ stages: [{ [path]: { marks: 9, loud: true } }] }))).toEqual([
      expect.stringMatching(/shout\.ts\.marks: .*3/),
      expect.stringMatching(/shout\.ts\.loud: unknown name; accepted here: marks$/),
    ]);
  });

  it('are found from the place of the file, not from the working directory', async () => {
    mkdirSync(join(directory, 'own'), { recursive: true });
    writeFileSync(join(directory, 'own/stage.mjs'), ownStage('export default'));
    const path = file('own/sluice.json', JSON.stringify(config({ stages: ['./stage.mjs'] })));
    expect((await loadConfig(path)).stages.map(({ name }) => name)).toEqual(['mine']);
  });

  it.each(Object.keys(packages))('may be the package %s', async name => {
    const path = file('packages.json', JSON.stringify(config({ stages: [name] })));
    expect((await loadConfig(path)).stages.map(plan => plan.name)).toEqual(['mine']);
  });

  it.each<[string, unknown, RegExp]>([
    [
      'an unknown name',
      'nonsense',
      /^stages\[0\]: there is no stage 'nonsense'; built in are: .*; others by path/,
    ],
    ['a name that is none', 'not a name', /^stages\[0\]: there is no stage 'not a name'/],
    ['a missing file', './absent.ts', /^stages\[0\]: cannot be loaded: \S/],
    [
      'a module without a stage',
      join(fixtures, '../think-texts.ts'),
      /must export a stage made with defineStage/,
    ],
    [
      'a module with two',
      join(fixtures, 'two.ts'),
      /must export a stage made with defineStage, as its default or only one/,
    ],
    ['two names in one', { auth: {}, validation: {} }, /^stages\[0\]: must be one stage with its options/],
    ['an empty entry', {}, /^stages\[0\]: must be one stage with its options/],
  ])('cannot be %s', async (_, stage, expected) => {
    const found = await mistakes(config({ stages: [stage] }));
    expect(found).toEqual([expect.stringMatching(expected)]);
  });
});
