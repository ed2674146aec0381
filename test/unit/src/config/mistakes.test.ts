import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../../../src/config/load.ts';
import { providerBaseSchema } from '../../../../src/config/provider-schema.ts';
import type { GatewayConfig } from '../../../../src/config/schema.ts';
import { mistakesOf, modelInYaml, sampleConfig, temporaryFiles, withModel } from './sample-config.ts';

const file = temporaryFiles();

describe('an invalid configuration', () => {
  const local = sampleConfig().providers.local!;
  const account = (changes: object) => sampleConfig({ accounts: { demo: changes } });

  const provider = (fields: object) => sampleConfig({ providers: { local: { ...local, ...fields } } });
  const plan = (free: object) => sampleConfig({ plans: { free } });
  const demo = { limits: { models: { 'aion-labs/aion-3.5': { tokens_per_day: 1 } } } };

  it.each<[object, string]>([
    [
      sampleConfig({ sever: {} }),
      "sever: unknown name; did you mean 'server'? Accepted here: server, admin, ",
    ],
    [sampleConfig({ admin: { prot: 1 } }), "admin.prot: unknown name; did you mean 'port'? Accepted here: "],
    [
      provider({ max_tokens_field: 'max_tokens' }),
      `providers.local.max_tokens_field: unknown name; accepted here: ${Object.keys(providerBaseSchema.shape).join(', ')}, adapter, thinking_switches`,
    ],
    [
      account({ keys: [{ valeu: 'sk-12345678' }] }),
      "demo.keys[0].valeu: unknown name; did you mean 'value'? Accepted here: value, sha256, name, ",
    ],
    [account({ keys: [{ name: 'ci' }] }), 'demo.keys[0]: must have either value or sha256'],
    [account({ keys: [], models: ['aion/none'] }), "demo.models[0]: there is no model 'aion/none'"],
    [
      sampleConfig({ tags: { team: Array.from({ length: 101 }, (_, at) => `v${at}`) } }),
      'tags.team: must have at most 100',
    ],
    [
      sampleConfig({ tags: Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`t${at}`, ['a']])) }),
      'tags: has 10 names at most',
    ],
    [sampleConfig({ tags: { Team: ['a'] } }), 'tags.Team: must be 1 to 32 small letters'],
    [sampleConfig({ tags: { team: ['a,b'] } }), 'tags.team[0]: must be 1 to 64 characters without commas'],
    [
      account({ keys: [{ value: 'sk-12345678', tags: {} }] }),
      'demo.keys[0].tags: need a name, under which its usage is',
    ],
    [{ models: sampleConfig().models }, 'providers: is required: an object'],
    [sampleConfig({ server: { port: 'x' } }), 'server.port: must be a number'],
    [
      withModel({ reasoning_effort: { supported: true, levels: ['low', 'ultra'], default: 'low' } }),
      "models[0].reasoning_effort.levels[1]: the adapter vllm has no words for 'ultra'; say in effort_map.ultra",
    ],
    [sampleConfig({ models: [] }), 'models: must list at least one model'],
    [
      provider({ adapter: 'vlm' }),
      "tgi; not 'vlm'; did you mean 'vllm'? (or a path such as ./my-server.ts, or a",
    ],
    [sampleConfig({ log: { level: 'wran' } }), "trace, silent; not 'wran'; did you mean 'warn'?"],
    [
      provider({ adapter: undefined }),
      'providers.local.adapter: must be one of: openai, vllm, sglang, llama-cpp, ',
    ],
    [provider({ base_url: 'ftp://a' }), 'providers.local.base_url: must be an http:// or https:// address'],
    [account({ keys: [{ value: 'short' }] }), 'accounts.demo.keys[0].value: must have at least 8 characters'],
    [
      account({ keys: [{ sha256: 'xyz' }] }),
      'keys[0].sha256: must be the SHA-256 of the key: 64 hexadecimal digits',
    ],
    [
      withModel({ pricing: { prompt: '7e-7', completion: '1' } }),
      'pricing.prompt: must be a decimal string without',
    ],
    [withModel({ id: 'small' }), 'models[0].id: must have the form <vendor>/<model_name>'],
    [
      withModel({ starts_in_reasoning: 'yes' }),
      'models[0].starts_in_reasoning: must be true, false or "auto"',
    ],
    [
      withModel({ upstreams: [{ provider: 'remote', model: 'm' }] }),
      "there is no provider 'remote'; there are: local",
    ],
    [
      withModel({ defaults: { temperature: 3 } }),
      'models[0].defaults.temperature: must be a number from 0 to 2',
    ],
    [withModel({ defaults: { top_k: 1 } }), 'models[0].defaults.top_k: unknown name'],
    [
      withModel({ defaults: { max_tokens: 1e9 } }),
      'models[0].defaults.max_tokens: is more than max_completion_tokens',
    ],
    [
      withModel({ defaults: { reasoning_effort: 'low' } }),
      'models[0].defaults.reasoning_effort: must be reasoning_effort.default',
    ],
    [
      { ...withModel({ defaults: { seed: 1 } }), stages: ['auth'] },
      'models[0].defaults: has no effect: the stage validation',
    ],
    [
      withModel({ effort_map: { huge: {} } }),
      'models[0].effort_map.huge: is not one of reasoning_effort.levels',
    ],
    [
      sampleConfig({ models: Array(2).fill(sampleConfig().models[0]) }),
      'models[1].id: aion-labs/aion-3.5 is listed twice',
    ],
    [account({ plan: 'gold' }), "accounts.demo.plan: there is no plan 'gold'; there are: (none)"],
    [
      plan({ request_per_minute: 5 }),
      "request_per_minute: unknown name; did you mean 'requests_per_minute'? Accepted",
    ],
    [
      plan({ usd_per_month: '5 dollars' }),
      'plans.free.usd_per_month: must be an amount above 0 with at most 9 decimal',
    ],
    [
      sampleConfig({ plans: { free: { requests_per_minute: 1 } }, stages: ['auth', 'validation'] }),
      'stages: must list rate-limit: nothing else holds the limits of plans.free',
    ],
    [
      sampleConfig({ accounts: { demo }, stages: ['auth'] }),
      'stages: must list rate-limit: nothing else holds the limits of accounts.demo',
    ],
  ])('is rejected with its path and what is accepted (case %#)', async (given, expected) => {
    expect(await mistakesOf(given as GatewayConfig)).toEqual([expect.stringContaining(expected)]);
  });

  it.each<[string, object, string[]]>([
    [
      'a misspelt stage, provider and plan',
      {
        ...withModel({ upstreams: [{ provider: 'Local', model: 'm' }] }),
        plans: { free: {} },
        accounts: { demo: { plan: 'fere' } },
        stages: ['auht', { rate_limit: {} }, { validation: { max_choice: 1, unknown_parameters: 'rejct' } }],
      },
      [
        "models[0].upstreams[0].provider: there is no provider 'Local'; did you mean 'local'? There are: local",
        "accounts.demo.plan: there is no plan 'fere'; did you mean 'free'? There are: free",
        "stages[0]: there is no stage 'auht'; did you mean 'auth'? Built in are: ",
        "stages[1].rate_limit: there is no stage 'rate_limit'; did you mean 'rate-limit'? Built in are: ",
        "validation.unknown_parameters: must be one of: ignore, reject; not 'rejct'; did you mean 'reject'?",
        "stages[2].validation.max_choice: unknown name; did you mean 'max_choices'? Accepted here: unknown_",
      ],
    ],
    [
      'limits of a plan and an account on an unknown model',
      sampleConfig({
        plans: { free: { models: { 'aion-labs/aion-9': { requests_per_minute: 1 } } } },
        accounts: {
          demo: { limits: { models: { 'aion-labs/aion-3.5': {}, small: { tokens_per_day: 1 } } } },
        },
      }),
      [
        "plans.free.models.aion-labs/aion-9: there is no model 'aion-labs/aion-9'; did you mean 'aion-labs/aion-3.5'?",
        "accounts.demo.limits.models.small: there is no model 'small'; there are: aion-labs/aion-3.5",
      ],
    ],
    [
      'tags of keys that are not listed',
      sampleConfig({
        tags: { team: ['red', 'blue'] },
        accounts: {
          demo: {
            keys: [
              { value: 'sk-12345678', name: 'a', tags: { team: 'bleu' } },
              { value: 'sk-12345679', name: 'b', tags: { team: 'red', teams: 'red' } },
            ],
          },
        },
      }),
      [
        "accounts.demo.keys[0].tags.team: there is no value of the tag team 'bleu'; did you mean 'blue'?",
        "accounts.demo.keys[1].tags.teams: there is no tag 'teams'; did you mean 'team'?",
      ],
    ],
    [
      'limits of the stage on an unknown model, and its own plans',
      sampleConfig({
        stages: [
          'auth',
          { 'rate-limit': { limits: { models: { small: { tokens_per_day: 1 } } }, plans: {} } },
        ],
      }),
      [
        "stages[1].rate-limit.limits.models.small: there is no model 'small'; there are: aion-labs/aion-3.5",
        'stages[1].rate-limit.plans: belongs to plans, at the top level',
      ],
    ],
    [
      'keys from two sources, one a missing file',
      provider({ api_key: 'k', api_key_file: './no-such-file' }),
      [
        'only one of api_key, api_keys, api_key_file may be given; there are: api_key, api_key_file',
        'providers.local.api_key_file: cannot be read: ENOENT',
      ],
    ],
    [
      'invalid passthrough paths',
      sampleConfig({
        passthrough: [
          { path: '/v1/*', provider: 'local' },
          { path: '/v1/chat/completions', provider: 'local' },
          { path: '/v1/embeddings', provider: 'remote', forward_headers: ['Cookie'] },
          { path: '/v1/embeddings', provider: 'local' },
          { path: '/v1/models/mine', provider: 'local' },
        ],
      }),
      [
        'passthrough[0].path: must be a path below /v1, such as /v1/embeddings, or all paths below one',
        'passthrough[2].forward_headers[0]: is never passed on: it belongs to the client or its connection',
        "passthrough[1].path: /v1/chat/completions is the gateway's own and cannot be let through",
        "passthrough[2].provider: there is no provider 'remote'; there are: local",
        "passthrough[4].path: /v1/models/mine is the gateway's own and cannot be let through",
        'passthrough[3].path: /v1/embeddings is listed twice',
      ],
    ],
  ])('is rejected with all mistakes: %s', async (_, given, expected) => {
    const found = await mistakesOf(given as GatewayConfig);
    expect(found).toEqual(expected.map(mistake => expect.stringContaining(mistake)));
  });

  it.each(['mysql://h/d', 'sqlite:', 'sqlite://a.db', 'sqlite::memory:', 'postgres://', './a.db'])(
    'is rejected for records at %s',
    async records => {
      expect(await mistakesOf(sampleConfig({ stores: { records } }))).toEqual([
        'stores.records: must be memory, sqlite:PATH such as sqlite:./sluice.db, or postgres://USER:PASSWORD@HOST:PORT/DATABASE',
      ]);
    },
  );

  const secret = { value: 'sk-12345678' };
  it.each([
    ['written twice', secret, secret],
    ['once as its digest', secret, { sha256: createHash('sha256').update(secret.value).digest('hex') }],
    ['as digests in small and capital letters', { sha256: 'ab'.repeat(32) }, { sha256: 'AB'.repeat(32) }],
  ])('is rejected for a key of two accounts, %s', async (_, one, other) => {
    expect(
      await mistakesOf(sampleConfig({ accounts: { a: { keys: [one] }, b: { keys: [other] } } })),
    ).toEqual(["accounts.b.keys[0]: the same key belongs to account 'a' already"]);
  });
});

describe('the list of configuration errors', () => {
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
  - id: a/small${modelInYaml}    extra: 1
stages:
  - auth
  - 7
  - validation:
      max_choices: 0
      strict: true
  - auth
  - nonsense
`;

  it('has every error with its line', async () => {
    const expected = [
      /^server\.port \(line 2\): .*65535/,
      /^server\.hots \(line 3\): unknown name; did you mean 'host'\? Accepted here: host, port, /,
      /^providers\.local\.base_url \(line 7\): must be an http/,
      /^providers\.keyed\.api_key \(line 11\): the environment variable KEY_THAT_IS_NOT_SET is not set$/,
      /^modelz \(line 12\): unknown name; did you mean 'models'\? Accepted here: server, /,
      /^models\[0\]\.extra \(line 25\): unknown name; accepted here: id, name, /,
      /^stages\[1\] \(line 28\): must be the name of a stage/,
      /^stages\[2\]\.validation\.max_choices \(line 30\): .*1/,
      /^stages\[2\]\.validation\.strict \(line 31\): unknown name; accepted here: unknown_parameters, /,
      /^stages\[3\] \(line 32\): the stage auth is listed twice$/,
      /^stages\[4\] \(line 33\): there is no stage 'nonsense'; built in are: error-envelope, auth, /,
    ];
    const found = await mistakesOf(file('wrong.yaml', text), {});
    for (const pattern of expected) expect(found).toContainEqual(expect.stringMatching(pattern));
    expect(found).toHaveLength(expected.length);
  });

  it('starts with their number and the name of the file', async () => {
    const path = file('two.yaml', 'modelz: 1\nprovider: 1\n');
    await expect(loadConfig(path)).rejects.toThrow(/two\.yaml: 4 mistakes\n {2}\S/);
    await expect(loadConfig(sampleConfig({ sever: 1 }))).rejects.toThrow(
      /^configuration: 1 mistake\n {2}sever: /,
    );
  });

  it.each([
    [
      'that is indented with tabs, once',
      'tabs.yaml',
      'server:\n\tport: 1\n\thost: a\nadmin:\n\tport: 2\n',
      '(top level) (line 2): is indented with a tab; YAML takes spaces only, also on the lines below',
    ],
    ['that is missing', 'absent.yaml', undefined, '(top level): cannot be read: ENOENT'],
    ['that is not YAML', 'broken.yaml', 'server: {\nmodels: [', /^\(top level\) \(line \d\): /],
    [
      'with a duplicate key',
      'twice.yaml',
      'log: {}\nserver: {}\nlog: {}\n',
      'log (line 3): stands here a second time (first in line 1); a name can be in its map once: put both together, or remove one',
    ],
    [
      'with a duplicate key in a list, written as a number and as text',
      'below.yaml',
      "models:\n  - effort_map: {}\n  - effort_map:\n      1: a\n      2: b\n      '1': c\n",
      'models[1].effort_map.1 (line 6): stands here a second time (first in line 4); a name can be in its map once: put both together, or remove one',
    ],
    [
      'with a merge key',
      'merge.yaml',
      'log: &log {}\nserver:\n  <<: *log\n',
      'server.<< (line 3): merge keys (<<) are not supported; write the fields out',
    ],
    [
      'with an alias to nothing, without the name, which may be a secret',
      'alias.yaml',
      'key: *canary',
      '(top level): has an alias (*name) without its anchor (&name), or too many of them',
    ],
    ['that is too large', 'large.yaml', '#'.repeat(4_194_305), '(top level): is larger than 4194304 bytes'],
    ['that is empty', 'empty.yaml', '', 'providers: is required: an object'],
    ['that is plain text', 'text.yaml', 'hello', '(top level): must be an object, not a string'],
  ])('names a file %s', async (_, name, text, expected) => {
    const path = text === undefined ? join(dirname(file('x', '')), name) : file(name, text);
    const [first] = await mistakesOf(path);
    if (typeof expected === 'string') expect(first).toBe(expected);
    else expect(first).toMatch(expected);
  });
});
