import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { defaultModels } from '../../src/config/example-models.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import {
  events,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  whole,
} from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

const [example] = defaultModels('upstream');
const upstreams = [
  { provider: 'first', model: 'served', priority: 1 },
  { provider: 'second', model: 'served', priority: 2 },
];
const named = upstreams.map(upstream => ({ ...upstream, model: `sound-at-${upstream.provider}` }));
const modelOf = (id: string, operations: string[], pricing: object) => ({
  ...example,
  ...{ id, name: id, operations, upstreams, context_length: 100, reasoning: true },
  pricing: { prompt: '0.000001', completion: '0.000002', ...pricing },
});
const models = [
  { ...example, upstreams },
  modelOf('acme/embed', ['embeddings'], { request: '0.5' }),
  modelOf('acme/text', ['chat', 'text_completion'], {}),
  modelOf('acme/rank', ['rerank'], {}),
  { ...modelOf('acme/sound', ['passthrough'], { prompt: '0', request: '0.25' }), upstreams: named },
];

const vectors = [
  [0.5, -1, 0.25],
  [1, 2, 3],
];
const embedded = {
  object: 'list',
  model: 'served',
  // Out of order, as a server may answer.
  data: [1, 0].map(index => ({ object: 'embedding', index, embedding: vectors[index] })),
  usage: { prompt_tokens: 150, total_tokens: 150 },
};

const passthrough = [{ path: '/v1/audio/transcriptions' }, { path: '/v1/moderations' }];

let first: ScriptedUpstream;
let second: ScriptedUpstream;
let gateway: GatewayUnderTest;
let client: OpenAI;

beforeAll(async () => {
  [first, second] = await Promise.all([startScriptedUpstream(''), startScriptedUpstream('')]);
  const provider = (upstream: ScriptedUpstream) => ({ adapter: 'vllm', base_url: upstream.url });
  gateway = await startGateway({
    upstream: first,
    stages: [
      'error-envelope',
      'auth',
      'validation',
      'rate-limit',
      { redact: { patterns: ['email'] } },
      'reasoning-split',
    ],
    config: { models, providers: { first: provider(first), second: provider(second) }, passthrough } as never,
  });
  client = new OpenAI({ apiKey: clientKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});
afterAll(() => Promise.all([gateway.close(), first.close(), second.close()]));

describe('embeddings', () => {
  it('fail over, and reach a client that reads base64 by default, billed per token and call', async () => {
    first.replyOnce(whole(503, { error: { message: 'overloaded' } }));
    second.replyOnce(whole(200, embedded));
    const reply = await client.embeddings.create({
      model: 'acme/embed',
      input: ['One', 'Two, of a@b.example'],
    });
    expect(reply.data.map(({ embedding }) => [...embedding])).toEqual(vectors);
    expect(reply).toMatchObject({ model: 'acme/embed', usage: { prompt_tokens: 150, total_tokens: 150 } });
    expect(second.last).toMatchObject({ path: '/v1/embeddings' });
    // What redact has made of the input is what is sent.
    expect(second.last.body).toEqual({
      model: 'served',
      input: ['One', 'Two, of [email]'],
      encoding_format: 'base64',
    });
    const labels = { endpoint: 'embeddings', model: 'acme/embed' };
    await until(async () => (await gateway.metric('sluice_requests_total', labels)) === 1);
    expect(await gateway.metric('sluice_cost_usd_total', { model: 'acme/embed' })).toBeCloseTo(0.50015, 9);
    expect(
      await gateway.metric('gen_ai_server_request_duration_seconds_count', {
        gen_ai_operation_name: 'embeddings',
      }),
    ).toBe(1);
  });

  it('are refused where a model serves none, as a chat is by a model of embeddings', async () => {
    const chat = await gateway.post(ask('Hello?', { model: 'acme/embed' }));
    expect(chat.status).toBe(400);
    expect(await chat.json()).toMatchObject({
      error: { message: 'model: acme/embed serves embeddings, not chat.', type: 'invalid_request_error' },
    });
    const body = { model: example!.id, input: 'One' };
    const other = await gateway.post(body, { path: '/v1/embeddings' });
    expect(await other.json()).toMatchObject({
      error: { message: `model: ${example!.id} serves chat, not embeddings.` },
    });
  });

  it('refuse token ids where a stage has to read the text', async () => {
    const body = { model: 'acme/embed', input: [[1, 2], [3]] };
    const reply = await gateway.post(body, { path: '/v1/embeddings' });
    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({
      error: { message: 'input: must be text: the stage redact cannot read tokens.' },
    });
  });
});

const logprobs = {
  tokens: [' Yes', '.'],
  token_logprobs: [-0.1, null],
  top_logprobs: [{ ' Yes': -0.1, ' No': -2 }, null],
  text_offset: [5, 9],
};

describe('completions', () => {
  it('come whole, for several prompts, with the log probabilities of completions', async () => {
    const choices = [0, 1].map(index => ({ index, text: ' Yes.', finish_reason: 'stop', logprobs }));
    first.replyOnce(
      whole(200, {
        object: 'text_completion',
        choices,
        usage: { prompt_tokens: 6, completion_tokens: 4, total_tokens: 10 },
      }),
    );
    const prompt = ['One?', 'Two, a@b.example?'];
    const reply = await client.completions.create({
      model: 'acme/text',
      prompt,
      suffix: '!',
      logprobs: 1,
      echo: true,
      stop: '\n',
    });
    expect(reply).toMatchObject({
      object: 'text_completion',
      model: 'acme/text',
      choices,
      usage: { prompt_tokens: 6, completion_tokens: 4 },
    });
    expect(reply.id).toMatch(/^cmpl-/);
    expect(first.last).toMatchObject({ path: '/v1/completions' });
    expect(first.last.body).toEqual({
      ...{ model: 'served', prompt: ['One?', 'Two, [email]?'], suffix: '!', logprobs: 1, echo: true },
      ...{ max_tokens: 16, stop: ['\n'] },
    });
  });

  it('are streamed as texts, masked as replies of a chat are, with tags as they came', async () => {
    const texts = ['<think>', ' a@b', '.example', ' end'];
    const chunk = (choice: object) => ({ object: 'text_completion', choices: [{ index: 0, ...choice }] });
    const parts = [
      ...texts.map(text => chunk({ text, finish_reason: null })),
      chunk({ text: '', finish_reason: 'length' }),
      { choices: [], usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } },
    ];
    first.replyOnce(streamed(events(...parts, '[DONE]')));
    const stream = await client.completions.create({
      model: 'acme/text',
      prompt: [1, 2, 3].map(String).join(),
      stream: true,
    });
    const chunks = [];
    for await (const one of stream) chunks.push(one);
    expect(chunks.map(({ choices: [choice] }) => choice?.text).join('')).toBe('<think> [email] end');
    expect(chunks.at(-1)).toMatchObject({
      object: 'text_completion',
      choices: [{ text: '', finish_reason: 'length' }],
      usage: { prompt_tokens: 3, completion_tokens: 4 },
    });
    expect(chunks.every(({ choices }) => choices.length === 1)).toBe(true);
    expect(first.last.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });
});

describe('rerank', () => {
  it('puts the documents in order, with the texts that were sent', async () => {
    const ranks = [0.2, 0.9, 0.5].map((relevance_score, index) => ({ index, relevance_score }));
    first.replyOnce(whole(200, { results: ranks, usage: { total_tokens: 30 } }));
    const documents = ['One', { text: 'Two, a@b.example' }, 'Three'];
    const asked = { model: 'acme/rank', query: 'Which?', documents, top_n: 2 };
    const reply = await gateway.post(asked, { path: '/v1/rerank' });
    expect(await reply.json()).toMatchObject({
      model: 'acme/rank',
      results: [
        { index: 1, relevance_score: 0.9, document: { text: 'Two, [email]' } },
        { index: 2, relevance_score: 0.5, document: { text: 'Three' } },
      ],
      usage: { prompt_tokens: 30, total_tokens: 30 },
    });
    expect(first.last.body).toEqual({
      model: 'served',
      query: 'Which?',
      documents: ['One', 'Two, [email]', 'Three'],
      top_n: 2,
    });
  });
});

describe('a path that is passed through without a provider', () => {
  const path = '/v1/moderations';
  const cost = () => gateway.metric('sluice_cost_usd_total', { model: 'acme/sound' });
  const bytes = Buffer.from([0, 255, 13, 10, 45, 45, 1]);
  const formOf = (model: string) => {
    const form = new FormData();
    form.set('file', new Blob([bytes]), 'a.wav');
    form.set('model', model);
    form.set('language', 'en');
    return form;
  };

  it('asks the upstreams of the model that its JSON names, each by its own name, and bills the call once', async () => {
    first.replyOnce(whole(503, { error: { message: 'overloaded' } }));
    second.replyOnce(whole(200, { results: [] }));
    const before = await cost();
    const reply = await gateway.post({ model: 'acme/sound', input: 'One', seed: 1 }, { path });
    expect([reply.status, await reply.text()]).toEqual([200, '{"results":[]}']);
    expect([first.last.path, first.last.body.model]).toEqual([path, 'sound-at-first']);
    expect(second.last.body).toEqual({ model: 'sound-at-second', input: 'One', seed: 1 });
    await until(async () => (await cost()) > before);
    expect((await cost()) - before).toBeCloseTo(0.25, 9);
  });

  it('sends a form with its file on as it came but for the name, whatever comes first', async () => {
    first.reply(whole(500, {}));
    second.replyOnce(whole(200, { text: 'Hello.' }));
    const reply = await fetch(`${gateway.url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${clientKey}` },
      body: formOf('acme/sound'),
    });
    expect([reply.status, await reply.json()]).toEqual([200, { text: 'Hello.' }]);
    const wanted = new Response(formOf('sound-at-second'));
    const plain = (text: string, type: string) =>
      text.replaceAll(/boundary=(.*)/.exec(type)![1]!, 'boundary');
    expect(plain(second.last.text, second.last.headers['content-type']!)).toBe(
      plain(await wanted.text(), wanted.headers.get('content-type')!),
    );
  });

  it('gives the error of the last, and is refused for a model that is not passed through', async () => {
    first.reply(whole(500, {}));
    second.replyOnce(whole(500, {}));
    const before = await cost();
    const failed = await gateway.post({ model: 'acme/sound', input: 'One' }, { path });
    expect(failed.status).toBe(502);
    const asked = first.requests.length;
    for (const model of ['acme/text', 'acme/none', undefined]) {
      const refused = await gateway.post({ model, input: 'One' }, { path });
      expect([refused.status, (await refused.text()).includes('model: ')]).toEqual([400, true]);
    }
    const chat = await gateway.post(ask('Hello?', { model: 'acme/sound' }));
    expect(chat.status).toBe(400);
    expect([first.requests.length, await cost()]).toEqual([asked, before]);
  });
});
