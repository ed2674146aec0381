import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { send } from '../support/raw-client.ts';
import {
  events,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  whole,
} from '../support/scripted-upstream.ts';

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

const finish = { index: 0, finish_reason: 'stop' };
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const wholeReply = whole(200, {
  choices: [{ ...finish, message: { role: 'assistant', content: 'Hi' } }],
  usage,
});
const streamReply = streamed(events({ choices: [{ ...finish, delta: { content: 'Hi' } }], usage }, '[DONE]'));

beforeAll(async () => {
  upstream = await startScriptedUpstream((socket, { body }) =>
    socket.write(body.stream ? streamReply : wholeReply),
  );
  gateway = await startGateway({ upstream });
});

afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

const key = { authorization: `Bearer ${clientKey}` };

describe('request paths', () => {
  it.each([
    '/',
    '/v1/Models',
    '/v1/embeddings',
    '/v1/chat/completions/chatcmpl-1',
    '/v1/responses/resp_1/cancel',
    '/metrics',
  ])('get 404 when they are not offered: %s', async path => {
    for (const headers of [key, {}]) {
      const { status, text } = await send(gateway.url + path, { method: 'POST', headers, body: '{}' });
      expect(status).toBe(404);
      expect(JSON.parse(text)).toEqual({
        error: { message: `Unknown request URL: POST ${path}.`, type: 'invalid_request_error' },
      });
    }
  });

  it('may have a query and a trailing slash', async () => {
    for (const path of ['/v1/models?limit=2', '/v1/models/', '/v1/models/?a=b'])
      expect((await send(gateway.url + path)).status).toBe(200);
    for (const path of ['/v1/chat/completions?api-version=1', '/v1/chat/completions/'])
      expect((await gateway.post(ask('Hello'), { path })).status).toBe(200);
    for (const path of ['/v1/responses?api-version=1', '/v1/responses/'])
      expect((await gateway.post({ model: 'aion-labs/aion-3.5', input: 'Hello' }, { path })).status).toBe(
        200,
      );
  });

  it('are cut short in the error message', async () => {
    const { status, text } = await send(`${gateway.url}/v1/${'x'.repeat(5000)}`);
    expect(status).toBe(404);
    expect(text.length).toBeLessThan(500);
  });
});

describe('request methods', () => {
  const others = ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
  it.each(['chat/completions', 'responses'].flatMap(path => others.map(method => [method, path])))(
    'other than POST get 405: %s %s',
    async (method, path) => {
      const { status, headers, text } = await send(`${gateway.url}/v1/${path}`, { method, headers: key });
      expect(status).toBe(405);
      expect(headers.allow).toBe('POST');
      expect(headers['content-type']).toMatch(/^application\/json/);
      if (method === 'HEAD') {
        expect(text).toBe('');
        return;
      }
      const { error } = JSON.parse(text) as { error: { type: string; message: string } };
      expect(Object.keys(error)).toEqual(['message', 'type']);
      expect(error.type).toBe('invalid_request_error');
      expect(error.message).toContain('POST');
    },
  );

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('other than GET get 405 for models: %s', async method => {
    const { status, headers } = await send(`${gateway.url}/v1/models`, { method });
    expect(status).toBe(405);
    expect(headers.allow).toBe('GET, HEAD');
  });
});

describe('the x-request-id of an answer', () => {
  /** A request for every kind of answer. */
  const answers: Record<number | string, (headers: Readonly<Record<string, string>>) => Promise<Headers>> = {
    '200': async headers => (await gateway.post(ask('Hello'), { headers })).headers,
    'a stream': async headers => (await gateway.stream(ask('Hello'), { headers })).headers,
    'the catalog': async headers => (await fetch(`${gateway.url}/v1/models`, { headers })).headers,
    '304': async headers => {
      const etag = (await fetch(`${gateway.url}/v1/models`)).headers.get('etag') ?? '';
      const reply = await fetch(`${gateway.url}/v1/models`, {
        headers: { ...headers, 'if-none-match': etag },
      });
      expect(reply.status).toBe(304);
      return reply.headers;
    },
    '400': async headers => (await gateway.post({ model: 'aion-labs/aion-3.5' }, { headers })).headers,
    '401': async headers => (await gateway.post({}, { headers: { ...headers, authorization: '' } })).headers,
    '404': async headers => (await gateway.post({}, { headers, path: '/v1/nothing' })).headers,
    '405': async headers => (await gateway.post({}, { headers, path: '/v1/models' })).headers,
  };

  it.each(Object.keys(answers))('is the one that was sent, or a new one: %s', async name => {
    const answer = answers[name]!;
    expect((await answer({ 'x-request-id': 'trace-7:a.b_C' })).get('x-request-id')).toBe('trace-7:a.b_C');
    const [one, two] = [(await answer({})).get('x-request-id'), (await answer({})).get('x-request-id')];
    expect(one).toMatch(/^req_[\w-]{16,}$/);
    expect(two).toMatch(/^req_[\w-]{16,}$/);
    expect(one).not.toBe(two);
  });
});
