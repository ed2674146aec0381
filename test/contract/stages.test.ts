import { describe, it } from '@jest/globals';
import {
  auth,
  builtInStages,
  defaultStages,
  errorEnvelope,
  rateLimit,
  reasoningSplit,
  redact,
  requestRewrite,
  responseCache,
  streamRechunk,
  validation,
} from '../../plugins/index.ts';
import { defaultModels } from '../../src/config/example-models.ts';
import {
  type ContractOptions,
  checkStage,
  type StageUnderTest,
  streamFixtures,
} from '../../src/testing/index.ts';

const models = defaultModels('upstream');
const modelOf = (name: string) => models.filter(({ id }) => id.endsWith(name));
const [reasoner] = models;
const joined = { reasoning_split: false };
const running = { stream_options: { continuous_usage_stats: true } };
const beginsInside = { models: [{ ...reasoner!, starts_in_reasoning: true }] };
const defaults = () => defaultStages.map(stage => stage());

/** For options that are not about streams. */
const fixtures = streamFixtures.slice(0, 3);
/** For options of a stage that is checked with all of them as it is by default: what text, reasoning, calls and usage there can be, one of each. */
const names =
  /^(plain-text|multi-byte|refusal|logprobs|two-choices|reasoning-(field|interleaved)|think-(tags-cut|then-tool-call)|tool-calls-mixed|text-and-tool-call-in-one-delta|usage-running)$/;
const some = { fixtures: streamFixtures.filter(({ name }) => names.test(name)) };

const never = 1_000_000_000_000;
const limited: ContractOptions = {
  plans: {
    wide: {
      requests_per_minute: never,
      tokens_per_minute: never,
      tokens_per_day: never,
      concurrent_requests: never,
      usd_per_month: 9_000_000,
    },
  },
  accounts: { contract: { plan: 'wide', keys: [{ value: 'contract-kit-key' }] } },
};

const variants: readonly [string, StageUnderTest, ContractOptions?][] = [
  ['error-envelope with the fields of OpenAI', errorEnvelope({ openai_fields: true }), { fixtures }],
  [
    'auth with accounts of its own and a bare key',
    auth({ accounts: { own: { keys: [{ value: 'a-key-of-its-own' }] } }, x_api_key: true }),
    { headers: { 'x-api-key': 'a-key-of-its-own' }, fixtures },
  ],
  [
    'validation that clamps and names what it ignores',
    validation({ max_tokens_above_cap: 'clamp' }),
    { request: { max_tokens: 1_000_000, unknown: { top_k: 40 } }, fixtures },
  ],
  ['rate-limit with every limit', [auth(), rateLimit()], { ...limited, fixtures }],
  [
    'rate-limit in a dry run, over its limits',
    rateLimit({ dry_run: true, limits: { requests_per_minute: 1 } }),
    { fixtures },
  ],
  [
    'request-rewrite with parameters to set',
    requestRewrite({ set: { top_p: 0.95 }, forward_metadata: true }),
    { fixtures },
  ],
  ['reasoning-split that keeps whitespace', reasoningSplit({ trim: false })],
  [
    'reasoning-split as asked for, on a model that does not reason',
    reasoningSplit(),
    { models: modelOf('llama-3.1-8b'), request: { reasoning_split: true } },
  ],
  ['reasoning-split on a model that does not reason', reasoningSplit(), { models: modelOf('llama-3.1-8b') }],
  ['reasoning-split that joins', reasoningSplit(), { request: joined }],
  ['reasoning-split on a text that starts inside', reasoningSplit(), beginsInside],
  [
    'reasoning-split that joins a text that starts inside',
    reasoningSplit(),
    { ...beginsInside, request: joined },
  ],
  ['the same, keeping whitespace', reasoningSplit({ trim: false }), beginsInside],
  [
    'the same without effort, which starts outside',
    reasoningSplit(),
    {
      models: [{ ...modelOf('aion-3.0')[0]!, starts_in_reasoning: true }],
      request: { reasoning_effort: 'none' },
    },
  ],
  [
    'reasoning-split on a text that may start inside',
    reasoningSplit(),
    {
      models: [{ ...reasoner!, starts_in_reasoning: 'auto' }],
      // A closing tag alone shows that the text began inside, and only a whole reply can show it.
      fixtures: streamFixtures.filter(({ name }) => name !== 'think-implicit' && name !== 'think-in-prose'),
    },
  ],
  ['stream-rechunk with running usage', streamRechunk(), { ...some, request: running }],
  ['stream-rechunk that joins a few characters', streamRechunk({ coalesce_characters: 8 }), some],
  ['stream-rechunk that joins more than there is', streamRechunk({ coalesce_characters: 1000 }), some],
  [
    'stream-rechunk whose timer runs out',
    streamRechunk({ coalesce_characters: 8, coalesce_ms: 1 }),
    {
      pause_ms: 5,
      fixtures: streamFixtures.filter(({ name }) => /^(plain|multi|two|reasoning-f|tool-call)/.test(name)),
    },
  ],
  ['stream-rechunk that cuts at every character', streamRechunk({ split_characters: 1 }), some],
  [
    'stream-rechunk that joins and cuts, with running usage',
    streamRechunk({ coalesce_characters: 3, split_characters: 4 }),
    { ...some, request: running },
  ],
  [
    'stream-rechunk with a class that matches',
    streamRechunk({ classes: [{ when: { continuous_usage: true }, coalesce_characters: 5 }] }),
    { ...some, request: running },
  ],
  ['redact over its own sample', redact(), { changes: ['text'] }],
  [
    'redact that masks every word, also in arguments',
    redact({ patterns: [{ name: 'word', regex: '\\w+', replacement: 'a "word" \\' }] }),
    { ...some, changes: ['text', 'tool_calls'] },
  ],
  [
    'redact that may mask everything, and holds it back',
    redact({ patterns: [{ name: 'all', regex: '[^\\x00]+\\x00' }] }),
    { ...some, holds_all: true },
  ],
  [
    'redact behind reasoning-split and before stream-rechunk',
    [streamRechunk(), redact(), reasoningSplit()],
    some,
  ],
  [
    'response-cache that stores every reply',
    [auth(), responseCache()],
    { ...some, headers: { authorization: 'Bearer contract-kit-key', 'cache-control': 'no-cache' } },
  ],
  ['the default chain', defaults()],
  [
    'the default chain, reasoning in the text, running usage',
    defaults(),
    { ...some, request: { ...joined, ...running } },
  ],
  [
    'the default chain on a model that does not reason',
    defaults(),
    { ...some, models: modelOf('llama-3.1-8b') },
  ],
  [
    'the default chain with pieces of another size',
    [errorEnvelope(), auth(), validation(), requestRewrite()].concat(
      streamRechunk({ coalesce_characters: 4, split_characters: 6 }),
      reasoningSplit({ trim: false }),
    ),
    { ...some, request: running },
  ],
];

/** Options of stages that refuse everything without any. */
const leastOptions: Readonly<Record<string, object>> = { 'model-access': { others: ['*'] } };

describe('the contract of every built-in stage', () => {
  it.each(builtInStages.map(stage => [stage.stageName, stage] as const))(
    'holds for %s',
    async (name, stage) => {
      await checkStage(stage((leastOptions[name] ?? {}) as never));
    },
  );

  it.each(variants.map(([name, stage, options = {}]) => [name, stage, options] as const))(
    'holds for the variant %s',
    async (_, stage, options) => {
      await checkStage(stage, options);
    },
  );
});
