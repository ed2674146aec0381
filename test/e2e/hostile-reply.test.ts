import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  bothWays,
  closeHealthy,
  completion,
  delta,
  expectNoTrace,
  expectRefusal,
  expectWholeStream,
  hostileSetting,
  reasoningOf,
  said,
} from '../support/hostile-setting.ts';
import { events, head, streamed, thenClose, whole } from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

const invalid = 'The upstream provider returned an invalid response.';

const notReplies = [
  { name: 'JSON that breaks off', body: '{"choices":[{"index":0,"message":{"role":"assis' },
  { name: 'words', body: 'Service is starting, please wait at gpu-7' },
  { name: 'nothing', body: '' },
  { name: 'null', body: 'null' },
  { name: 'a number', body: '17' },
  { name: 'a text', body: '"ok"' },
  { name: 'a list', body: '[]' },
  { name: 'an object of another kind', body: '{"ok":true}' },
  { name: 'no choices', body: '{"choices":[]}' },
  { name: 'choices that are no list', body: '{"choices":{"0":{}}}' },
  { name: 'a choice that is null', body: '{"choices":[null]}' },
  { name: 'a choice without message', body: '{"choices":[{"index":0,"finish_reason":"stop"}]}' },
  {
    name: 'a choice without finish_reason',
    body: '{"choices":[{"index":0,"message":{"role":"assistant","content":"Hel"},"finish_reason":null}]}',
  },
  { name: 'JSON behind two byte order marks', body: `\uFEFF\uFEFF${JSON.stringify(completion('Hel'))}` },
  { name: 'JSON nested too deep to be read', body: `{"choices":${'['.repeat(50_000)}` },
];

describe.each(bothWays)('a 200 from the upstream ($way)', ({ stream }) => {
  it.each(notReplies)('is an invalid response when its body is $name', async ({ body }) => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(200, body));
    await expectRefusal(await send(stream), 502, 'provider_error', invalid);
  });

  it.each([
    { shape: 'OpenAI', body: { error: { message: 'gpu-7 is on fire', type: 'x' } } },
    { shape: 'OpenRouter', body: { error: { code: 429, message: 'gpu-7 is on fire' }, user_id: 'u' } },
    { shape: 'a text', body: { error: 'gpu-7 is on fire' } },
    { shape: 'old vLLM', body: { object: 'error', message: 'gpu-7 is on fire', code: 400 } },
    { shape: 'Anthropic', body: { type: 'error', error: { type: 'overloaded_error', message: 'gpu-7' } } },
    { shape: 'FastAPI', body: { detail: 'gpu-7 is on fire' } },
    { shape: 'an error beside choices', body: completion('Hel', {}, { error: { message: 'gpu-7' } }) },
  ])('is a provider error when its body is an error in the shape of $shape', async ({ body }) => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(200, body));
    const message = await expectRefusal(await send(stream), 502, 'provider_error');
    expect(message).toBe('The upstream provider returned an error.');
  });

  it('is a provider error when its finish reason is an error', async () => {
    const { upstream, send } = await hostileSetting();
    for (const finish_reason of ['error', 'abort']) {
      const message = { role: 'assistant', content: 'Hel' };
      upstream.reply(whole(200, { choices: [{ index: 0, message, finish_reason }] }));
      await expectRefusal(await send(stream), 502, 'provider_error');
    }
  });

  it('is a provider error when it is an HTML page', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(200, '<!doctype html><p>Login to gpu-7</p>', { 'content-type': 'text/html' }));
    await expectRefusal(await send(stream), 502, 'provider_error', invalid);
  });

  it('is a provider error when it is larger than max_reply_bytes', async () => {
    const { upstream, send } = await hostileSetting({ provider: { max_reply_bytes: 100_000 } });
    upstream.reply(whole(200, completion('x'.repeat(200_000))));
    await expectRefusal(await send(stream), 502, 'provider_error', invalid);
  });

  it('is read when one byte order mark comes before it', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(200, `\uFEFF${JSON.stringify(completion('Marked.'))}`));
    expect(await (await send(stream)).text()).toContain('"content":"Marked."');
    upstream.reply(whole(400, '\uFEFF{"error":{"message":"top_p is too high."}}'));
    await expectRefusal(await send(stream), 400, 'invalid_request_error', 'top_p is too high.');
  });

  it('is decompressed when it is compressed', async () => {
    const { upstream, send } = await hostileSetting();
    const body = gzipSync(JSON.stringify(completion('Compressed.')));
    upstream.reply(whole(200, body, { 'content-encoding': 'gzip' }));
    expect(await (await send(stream)).text()).toContain('"content":"Compressed."');
    expect(upstream.last.headers['accept-encoding']).toBe('identity');
  });

  it('is limited by its size after decompression', async () => {
    const { upstream, send } = await hostileSetting({ provider: { max_reply_bytes: 100_000 } });
    const bomb = gzipSync(JSON.stringify(completion('x'.repeat(20_000_000))));
    expect(bomb.length).toBeLessThan(100_000);
    upstream.reply(whole(200, bomb, { 'content-encoding': 'gzip' }));
    await expectRefusal(await send(stream), 502, 'provider_error', invalid);
  });

  it.each(['gzip', 'br', 'deflate'])(
    'is a provider error when it claims to be %s and is not',
    async encoding => {
      const { upstream, send } = await hostileSetting();
      upstream.reply(whole(200, completion('plain'), { 'content-encoding': encoding }));
      await expectRefusal(await send(stream), 502, 'provider_error');
    },
  );

  it('is a provider error when its encoding is unknown', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(200, completion('plain'), { 'content-encoding': 'gzip, rot13' }));
    await expectRefusal(await send(stream), 502, 'provider_error', invalid);
  });

  it('is read when the connection close ends it', async () => {
    const { upstream, send } = await hostileSetting();
    const start = head(200, { 'content-type': 'application/json', connection: 'close' });
    upstream.reply(thenClose(start, JSON.stringify(completion('Closed.'))));
    expect(await (await send(stream)).text()).toContain('"content":"Closed."');
  });

  it('is a provider error when its status is 204', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(head(204));
    await expectRefusal(await send(stream), 502, 'provider_error');
  });
});

describe('a whole reply', () => {
  it('exposes no header, field or id of the upstream', async () => {
    const { upstream, send } = await hostileSetting();
    const headers = { server: 'uvicorn', 'x-served-by': 'gpu-7', 'set-cookie': 'a=b', via: '1.1 gpu-7' };
    const inside = { prompt_logprobs: null, kv_transfer_params: { host: 'gpu-7' }, provider: 'gpu-7' };
    upstream.reply(whole(200, completion('Hello.', { annotations: ['gpu-7'] }, inside), headers));
    const response = await send(false);
    const text = await response.text();
    expectNoTrace(text, response.headers, upstream);
    expect(text).not.toContain('gpu-7');
    for (const name of Object.keys(headers)) expect(response.headers.get(name)).toBeNull();
    expect(JSON.parse(text)).toEqual({
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'aion-labs/aion-3.5',
      choices: [
        { index: 0, message: { role: 'assistant', content: 'Hello.', reasoning: '' }, finish_reason: 'stop' },
      ],
      usage: {
        prompt_tokens: 7,
        completion_tokens: 3,
        total_tokens: 10,
        prompt_tokens_details: { cached_tokens: 0 },
      },
    });
  });

  it('is invalid when it is an event stream', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(streamed(events(said('Hel'), delta({}, 'stop'), '[DONE]')));
    await expectRefusal(await send(false), 502, 'provider_error', invalid);
  });
});

describe('a plain reply to a streamed request', () => {
  it('becomes a stream', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(whole(200, completion('Hello.', { reasoning: 'Greet.' })));
    const reply = await stream();
    const chunks = expectWholeStream(reply, 'Hello.');
    expect(reasoningOf(reply)).toBe('Greet.');
    expect(chunks.at(-1)?.json.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 3 });
    expectNoTrace(reply.text, reply.headers, upstream);
  });

  it('becomes a stream with tool calls', async () => {
    const { upstream, stream } = await hostileSetting();
    const calls = [
      { id: 'call_a', type: 'function', function: { name: 'roll', arguments: '{"d":20}' } },
      { id: 'call_b', type: 'function', function: { name: 'roll', arguments: '{"d":6}' } },
    ];
    upstream.reply(whole(200, completion(null, { tool_calls: calls })));
    const chunks = expectWholeStream(await stream(), '', 'tool_calls');
    const seen = chunks.flatMap(({ json }) => json.choices?.flatMap(({ delta }) => delta.tool_calls ?? []));
    expect(seen).toEqual(calls.map((call, index) => ({ index, ...call })));
  });

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON'])(
    'becomes a stream when its content type is %s',
    async type => {
      const { upstream, stream } = await hostileSetting();
      upstream.reply(whole(200, completion('Hello.'), { 'content-type': type }));
      expectWholeStream(await stream(), 'Hello.');
    },
  );
});
