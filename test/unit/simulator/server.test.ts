import { afterEach, describe, expect, it } from '@jest/globals';
import { ask, closeAll, post, simulate } from './client.ts';

afterEach(closeAll);

const tool = { type: 'function', function: { name: 'f' } };

describe('simulator paths', () => {
  it('lists its models as vLLM does', async () => {
    const simulator = await simulate({ models: ['a/b', 'c'], max_model_len: 4_096 });
    expect(simulator.url).toBe(`http://127.0.0.1:${simulator.port}/v1`);
    const { object, data } = (await (await fetch(`${simulator.url}/models`)).json()) as Record<
      string,
      unknown
    >;
    expect(object).toBe('list');
    expect(data).toMatchObject([
      { id: 'a/b', object: 'model', owned_by: 'vllm', root: 'a/b', max_model_len: 4_096 },
      { id: 'c', created: expect.any(Number) },
    ]);
  });

  it('answers health and version without a key', async () => {
    const simulator = await simulate({ api_key: 'k' });
    const health = await fetch(new URL('/health', simulator.url));
    expect([health.status, await health.text()]).toEqual([200, '']);
    expect((await fetch(new URL('/version', simulator.url))).status).toBe(200);
  });

  it('answers 404 and 405 as FastAPI does', async () => {
    const simulator = await simulate();
    const missing = await fetch(`${simulator.url}/audio/speech`);
    const wrong = await fetch(`${simulator.url}/chat/completions?x=1`);
    expect([missing.status, await missing.json()]).toEqual([404, { detail: 'Not Found' }]);
    expect([wrong.status, await wrong.json()]).toEqual([405, { detail: 'Method Not Allowed' }]);
    expect(wrong.headers.get('allow')).toBe('POST');
  });

  it('requires the configured key', async () => {
    const simulator = await simulate({ api_key: 'k' });
    const wrong = await post(simulator, ask('Hello'), { headers: { authorization: 'Bearer x' } });
    const right = await post(simulator, ask('Hello'), { headers: { authorization: 'Bearer k' } });
    expect([wrong.status, await wrong.json()]).toEqual([401, { error: 'Unauthorized' }]);
    expect(right.status).toBe(200);
    expect(simulator.stats).toMatchObject({ requests: 2, refused: 1, completed: 1 });
  });
});

describe('simulator validation', () => {
  it.each([
    ['no JSON', '{"model":', null, /^JSON decode error/],
    ['no object', '[]', null, /must be a JSON object/],
    ['no messages', { model: 'm' }, 'messages', /must be an array/],
    ['empty messages', { messages: [] }, 'messages', /must not be empty/],
    ['a message without role', { messages: [{ content: 'x' }] }, 'messages', /messages\[0\]/],
    ['max_tokens 0', ask('x', { max_tokens: 0 }), 'max_tokens', /max_tokens must be at least 1, got 0/],
    [
      'max_completion_tokens 1.5',
      ask('x', { max_completion_tokens: 1.5 }),
      'max_completion_tokens',
      /an integer/,
    ],
    [
      'stream_options',
      ask('x', { stream_options: { include_usage: true } }),
      'stream_options',
      /`stream=True`/,
    ],
    ['n 0', ask('x', { n: 0 }), 'n', /from 1 to 128/],
    ['an effort', ask('x', { reasoning_effort: 'huge' }), 'reasoning_effort', /one of none, minimal, low/],
    ['temperature', ask('x', { temperature: -1 }), 'temperature', /non-negative/],
    ['an empty stop', ask('x', { stop: [''] }), 'stop', /empty string/],
    ['empty tools', ask('x', { tools: [] }), 'tools', /empty array/],
    ['tool_choice without tools', ask('x', { tool_choice: 'auto' }), 'tool_choice', /`tools` must be set/],
    [
      'a tool that is not there',
      ask('x', { tools: [tool], tool_choice: { type: 'function', function: { name: 'g' } } }),
      'tool_choice',
      /does not match/,
    ],
    ['the context', ask('x', { max_tokens: 300_000 }), 'input_tokens', /maximum context length is 262144/],
    ['a directive', ask('[[sim:nonsense]]'), 'messages', /Unknown simulator directive/],
  ])('rejects %s', async (_, body, param, message) => {
    const simulator = await simulate();
    const response = await post(simulator, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: { message: expect.stringMatching(message), type: 'BadRequestError', param, code: 400 },
    });
    expect(simulator.stats.refused).toBe(1);
  });

  it('accepts null as absent, and content parts as text', async () => {
    const body = {
      model: null,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: '[[sim:say=' },
            { type: 'text', text: 'parts]]' },
          ],
        },
      ],
      ...{
        max_tokens: null,
        stop: null,
        tools: null,
        tool_choice: null,
        stream_options: {},
        n: null,
        stream: null,
      },
    };
    const reply = (await (await post(await simulate(), body)).json()) as {
      choices: unknown[];
      model: string;
    };
    expect(reply).toMatchObject({ model: 'simulated-model', choices: [{ message: { content: 'parts' } }] });
  });

  it('serves any model until models are named', async () => {
    const response = await post(await simulate({ models: ['a'] }), ask('Hello'));
    expect([response.status, await response.json()]).toEqual([
      404,
      {
        error: { message: 'The model `m` does not exist.', type: 'NotFoundError', param: 'model', code: 404 },
      },
    ]);
    expect((await post(await simulate(), ask('Hello'))).status).toBe(200);
  });
});

describe('recorded requests', () => {
  it('are the latest ones, with headers and parsed body', async () => {
    const simulator = await simulate({ recorded_requests: 2 });
    await post(simulator, '{');
    await post(simulator, ask('one'));
    await post(simulator, ask('two'), { headers: { 'x-request-id': 'r1' } });
    expect(simulator.requests).toHaveLength(2);
    expect(simulator.requests[1]).toMatchObject({
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { 'x-request-id': 'r1' },
      body: ask('two'),
    });
  });
});

describe('starting the simulator', () => {
  it('fails on wrong options and on a port in use', async () => {
    const { port } = await simulate();
    await expect(simulate({ fail_rate: 2 })).rejects.toThrow('fail_rate must be a number');
    await expect(simulate({ fail_rate: 1, fail: 'oops' })).rejects.toThrow(
      "Unknown simulator directive 'oops'",
    );
    await expect(simulate({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});
