import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ReceivedRequest, type Simulator, startSimulator } from '../../src/simulator/server.ts';
import {
  ask,
  clientKey,
  type GatewayOverrides,
  type GatewayUnderTest,
  startGateway,
  upstreamKey,
} from '../support/gateway-under-test.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  simulator = await startSimulator({ recorded_requests: 1 });
  gateway = await startGateway({ upstream: simulator });
});

afterAll(async () => {
  await gateway?.close();
  await simulator?.close();
});

type Headers = Readonly<Record<string, string>>;

/** What the upstream received of a request that was answered 200, and what the answer says was ignored. */
async function received(
  body: object | string,
  headers: Headers = {},
  under = gateway,
): Promise<ReceivedRequest & { ignored: string | null }> {
  const reply = await under.post(body, { headers });
  const text = await reply.text();
  if (reply.status !== 200) throw new Error(`${reply.status} ${text}`);
  return { ...simulator.requests.at(-1)!, ignored: reply.headers.get('x-ignored-parameters') };
}

/** The same of a small request to a gateway with these settings. */
async function receivedUnder(overrides: Omit<GatewayOverrides, 'upstream'>, more: object) {
  const other = await startGateway({ upstream: simulator, ...overrides });
  return received(ask('Hello', more), {}, other).finally(other.close);
}

const bodyFor = async (more: object): Promise<unknown> => (await received(ask('Hello', more))).body;

/** What every request to aion-3.5 becomes. */
const plain = {
  model: 'aion-3.5',
  messages: [{ role: 'user', content: 'Hello' }],
  reasoning_effort: 'high',
  chat_template_kwargs: { enable_thinking: true },
};
const tool = { type: 'function', function: { name: 'roll', strict: true, parameters: { type: 'object' } } };
const call = { id: 'call_1', type: 'function', function: { name: 'roll', arguments: '{"d":20}' } };

/** What engines take beside the interface: none of it may be in a client's reach. */
const engineFields: Record<string, unknown> = {
  chat_template: '{{ messages }}',
  chat_template_kwargs: { enable_thinking: false },
  priority: -1,
  mm_processor_kwargs: { a: 1 },
  kv_transfer_params: { remote_host: '203.0.113.7' },
  guided_regex: '(a+)+',
  logits_processors: ['x'],
  ignore_eos: true,
  request_id: 'x',
  cache_salt: 'x',
  vllm_xargs: { a: 1 },
  top_k: 1,
};

describe('the body sent upstream', () => {
  it('asks a stream for its usage, whatever the client wants to see', async () => {
    const stream_options = { include_usage: true, continuous_usage_stats: true };
    for (const more of [{}, { stream_options: { include_usage: false } }])
      expect(await bodyFor({ stream: true, ...more })).toEqual({ ...plain, stream: true, stream_options });
  });

  it('contains every parameter that the interface allows', async () => {
    const parameters = {
      temperature: 0,
      max_tokens: 100,
      stop: ['END'],
      n: 2,
      top_p: 0.9,
      seed: 7,
      presence_penalty: -1,
      frequency_penalty: 1.5,
      logit_bias: { '50256': -100 },
      logprobs: true,
      top_logprobs: 3,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
      user: 'ann',
      tools: [tool],
      tool_choice: { type: 'function', function: { name: 'roll' } },
      parallel_tool_calls: false,
    };
    expect(await bodyFor(parameters)).toEqual({ ...plain, ...parameters });
  });

  it.each<[string, object, object]>([
    ['max_completion_tokens as max_tokens', { max_completion_tokens: 7 }, { max_tokens: 7 }],
    ['a stop string as an array', { stop: 'END' }, { stop: ['END'] }],
    ['nothing of the gateway', { reasoning_split: false, metadata: { key: 'value' } }, {}],
    ['no choice among no tools', { tools: [], tool_choice: 'none', parallel_tool_calls: true }, {}],
    ['nothing that is null', { temperature: null, tools: null, stream_options: null, unknown: null }, {}],
  ])('contains %s', async (_, more, expected) => {
    expect(await bodyFor(more)).toEqual({ ...plain, ...expected });
  });

  it('contains the messages unchanged, except for unknown fields', async () => {
    const { body } = await received({
      model: 'aion-labs/aion-3.5',
      messages: [
        { role: 'developer', content: 'Be brief.', name: 'desk' },
        { role: 'user', content: [{ type: 'text', text: 'Roll', cache_control: { type: 'ephemeral' } }] },
        { role: 'assistant', content: null, tool_calls: [{ ...call, index: 0 }], reasoning: 'Hm.' },
        { role: 'tool', tool_call_id: 'call_1', content: '17', tool_calls: null },
        { role: 'user', content: 'Again', id: 'msg_1' },
      ],
    });
    expect((body as { messages: unknown }).messages).toEqual([
      { role: 'system', content: 'Be brief.', name: 'desk' },
      { role: 'user', content: [{ type: 'text', text: 'Roll' }] },
      { role: 'assistant', content: null, tool_calls: [call], reasoning: 'Hm.', reasoning_content: 'Hm.' },
      { role: 'tool', tool_call_id: 'call_1', content: '17' },
      { role: 'user', content: 'Again' },
    ]);
  });

  it('is serialized anew, so that a duplicate key keeps its last value only', async () => {
    const text = JSON.stringify(ask('Hello')).replace('{', '{"model":"first","temperature":2,"top_k":1,');
    const last = await received(text.replace(/}$/, ',"temperature":1,"temperature":0.5}'));
    expect(last.body).toEqual({ ...plain, temperature: 0.5 });
    expect(last.text.match(/"(temperature|model)"/g)).toHaveLength(2);
    expect(last.text).not.toContain('first');
  });

  it('keeps every character, lone surrogates included', async () => {
    const content = 'Grüße 🌊 \u0000 \u2028 "\\" \ud83c end';
    expect(await bodyFor({ messages: [{ role: 'user', content }] })).toMatchObject({
      messages: [{ role: 'user', content }],
    });
  });

  it('has what is configured for the provider, the stages and the adapter', async () => {
    const extra_parameters = ['top_k', 'min_p'];
    const { body, ignored } = await receivedUnder(
      {
        provider: { extra_parameters },
        stages: ['auth', 'validation', { 'request-rewrite': { forward_metadata: true } }],
      },
      { top_k: 20, priority: 1, metadata: { key: 'value' } },
    );
    expect(ignored).toBe('priority');
    expect(body).toEqual({ ...plain, top_k: 20, metadata: { key: 'value' } });
    const openAi = await receivedUnder({ adapter: 'openai', model: { effort_map: {} } }, {});
    expect(openAi.body).toEqual({ ...plain, chat_template_kwargs: undefined });
  });
});

describe('unknown fields of a request', () => {
  it('never go upstream, and are listed in the answer, on streams as well', async () => {
    const names = Object.keys(engineFields).join(', ');
    const { body, ignored } = await received(ask('Hello', engineFields));
    expect([body, ignored]).toEqual([plain, names]);
    expect((await received(ask('Hello', { ...engineFields, stream: true }))).ignored).toBe(names);
  });

  it('are not listed when there are none or only nulls, nor are known ones', async () => {
    const known = { store: null, metadata: { a: 'b' }, reasoning_split: true, user: 'ann', seed: 1 };
    expect((await received(ask('Hello', known))).ignored).toBeNull();
  });

  it('are listed up to twenty, in characters that a header allows', async () => {
    const odd = { 'a\r\nset-cookie: x=1, "ü" 🌊': 1, ['x'.repeat(500)]: 1 };
    const many = Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`field_${at}`, at]));
    const { ignored } = await received(ask('Hello', { ...odd, ...many }));
    expect(ignored).toMatch(/^a\?\?set-cookie:\?x=1\?\?"\?"\?\??\?, x{64}, field_0, .*field_17, \.\.\.$/);
  });

  it('may be named like prototype properties', async () => {
    const names = '{"__proto__":{"stream":true,"tools":[1]},"constructor":1,"toString":2,';
    const { body, ignored } = await received(JSON.stringify(ask('Hello')).replace('{', names));
    expect([body, ignored]).toEqual([plain, '__proto__, constructor, toString']);
    expect(({} as Record<string, unknown>).stream).toBeUndefined();
  });
});

describe('the reasoning effort of a model', () => {
  const older = ['none', 'low', 'medium', 'high', 'max'];
  it.each([
    ['aion-3.5', ['low', 'high', 'max'], 'high'],
    ['aion-3.5-mini', ['low', 'high', 'max'], 'high'],
    ['aion-3.0', older, 'medium'],
    ['aion-3.0-mini', older, 'medium'],
    ['aion-2.0', older, 'medium'],
  ])(
    'of the example catalog is sent as its levels are, and explicitly: %s',
    async (name, levels, initial) => {
      const model = `aion-labs/${name}`;
      for (const [asked, level] of [[null, initial], ...levels.map(level => [level, level])])
        expect(await bodyFor({ model, reasoning_effort: asked })).toMatchObject({
          reasoning_effort: level,
          chat_template_kwargs: { enable_thinking: level !== 'none' },
        });
      const refused = await gateway.post(ask('Hello', { model, reasoning_effort: 'minimal' }));
      expect(((await refused.json()) as { error: object }).error).toMatchObject({
        message: `reasoning_effort: 'minimal' is not accepted by ${model}; use one of: ${levels.join(', ')}.`,
      });
    },
  );

  it('that has no levels is not sent', async () => {
    const model = 'aion-labs/aion-rp-llama-3.1-8b';
    for (const reasoning_effort of [null, 'medium'])
      expect(Object.keys((await bodyFor({ model, reasoning_effort })) as object)).toEqual([
        'model',
        'messages',
      ]);
  });
});

describe('an invalid field', () => {
  const rp = { model: 'aion-labs/aion-rp-llama-3.1-8b' };
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
  const roll = { role: 'assistant', content: null, tool_calls: [{ ...call, id: undefined }] };

  /** One of each kind: what is wrong in which way is decided by the dialect and by validation. */
  it.each<[object, RegExp]>([
    [{ temperature: '1' }, /^temperature: .*0 to 2/],
    [{ stop: ['a', ''] }, /^stop: .*array of non-empty strings/],
    [{ max_completion_tokens: 32_769 }, /^max_completion_tokens: .*32768/],
    [{ n: 9 }, /^n: .*at most 8/],
    [{ stream_options: { include_usage: true } }, /^stream_options: .*"stream": true/],
    [{ tools: [{}] }, /^tools\[0\]: .*type: "function"/],
    [{ ...rp, tools: [tool] }, /^tools: aion-labs\/aion-rp-llama-3\.1-8b does not accept tools/],
    [{ ...rp, reasoning_effort: 'high' }, /^reasoning_effort: .*does not support reasoning_effort/],
    [{ reasoning_effort: 5 }, /^reasoning_effort: must be a string/],
    [{ model: 'Aion-Labs/aion-3.5' }, /^model: unknown model .*GET \/v1\/models/],
    [{ model: '__proto__' }, /^model: unknown model/],
    [{ model: null }, /^model: .*model id/],
    [{ metadata: { key: 5 } }, /^metadata\.key: must be a string/],
    [{ messages: [] }, /^messages: .*at least one/],
    [{ messages: [{ role: 'user', content: 'word '.repeat(52_000) }], ...rp }, /^messages: .*32768/],
    [{ messages: [{ role: 'user', content: 'a' }, roll] }, /^messages\[1\]\.tool_calls\[0\]\.id: /],
    [{ messages: [{ role: 'user', content: [image] }] }, /type: images are not accepted by .*text->text/],
  ])('gets 400 with its name, and nothing goes upstream: %j', async (more, says) => {
    const { requests } = simulator.stats;
    const reply = await gateway.post(ask('Hello', more));
    const { error } = (await reply.json()) as { error: { message: string; type: string } };
    expect(reply.status).toBe(400);
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(Object.keys(error)).toEqual(['message', 'type']);
    expect(error.type).toBe('invalid_request_error');
    expect(error.message).toMatch(says);
    expect(error.message.length).toBeLessThan(400);
    expect(simulator.stats.requests).toBe(requests);
  });

  it('is one that is unknown, where the configuration says so', async () => {
    const validation = { unknown_parameters: 'reject' as const };
    const stages: GatewayOverrides['stages'] = ['auth', { validation }, 'request-rewrite'];
    await expect(receivedUnder({ stages }, { top_k: 20 })).rejects.toThrow(/^400 .*"message":"top_k: /);
    expect((await receivedUnder({ stages }, { top_k: null })).ignored).toBeNull();
  });
});

describe('the head of a request sent upstream', () => {
  it("carries the provider's key, its own path and no header of the client's", async () => {
    const { headers, text, path, method } = await received(ask('Hello'), {
      authorization: `Api-Key ${clientKey}`,
      cookie: 'session=secret',
      'x-request-id': 'trace-7',
      'x-forwarded-for': '203.0.113.7',
      'x-custom': 'mine',
      'openai-organization': 'org',
      'user-agent': 'client/1',
      'idempotency-key': 'once',
      'accept-encoding': 'gzip',
    });
    expect({ path, method }).toEqual({ path: '/v1/chat/completions', method: 'POST' });
    expect(headers).toEqual({
      host: `127.0.0.1:${simulator.port}`,
      connection: expect.any(String),
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(text)),
      accept: 'application/json, text/event-stream',
      'accept-encoding': 'identity',
      'user-agent': 'sluice',
      authorization: `Bearer ${upstreamKey}`,
    });
  });

  it('carries no key when none is configured, and the configured headers', async () => {
    const provider = { api_key: undefined, headers: { 'X-Team': 'red' } };
    const { headers } = await receivedUnder({ provider }, {});
    expect(headers).not.toHaveProperty('authorization');
    expect(headers['x-team']).toBe('red');
    expect(JSON.stringify(headers)).not.toContain(clientKey);
  });

  it('has a key that no client is shown, also where the provider refuses it', async () => {
    const strict = await startSimulator({ api_key: 'sk-another-key-000000' });
    const wrong = await startGateway({ upstream: strict });
    const reply = await wrong.post(ask('Hello'));
    const text = await reply.text().finally(() => Promise.all([wrong.close(), strict.close()]));
    expect(reply.status).toBe(400);
    expect(JSON.parse(text).error.type).toBe('configuration_error');
    expect(text + JSON.stringify([...reply.headers])).not.toMatch(/sk-|Unauthorized|127\.0\.0\.1/);
  });
});
