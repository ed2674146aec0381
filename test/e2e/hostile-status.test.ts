import { afterEach, describe, expect, it } from '@jest/globals';
import { upstreamKey } from '../support/gateway-under-test.ts';
import { bothWays, closeHealthy, expectRefusal, hostileSetting } from '../support/hostile-setting.ts';
import { chunk, head, whole } from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

const said = "temperature: 9 is above this server's 2";

/** Bodies of errors and what a client is to read in them. */
const shapes: readonly { shape: string; body: object | string; read?: string }[] = [
  { shape: 'OpenAI', body: { error: { message: said, type: 'BadRequestError', param: null, code: 400 } } },
  { shape: 'a text as error', body: { error: said } },
  { shape: 'old vLLM', body: { object: 'error', message: said, type: 'BadRequestError', code: 400 } },
  { shape: 'FastAPI text', body: { detail: said } },
  {
    shape: 'FastAPI list',
    body: { detail: [{ type: 'value_error', loc: ['body', 'messages', 0], msg: said, input: {} }] },
    read: `messages.0: ${said}`,
  },
  { shape: 'OpenRouter', body: { error: { code: 400, message: said, metadata: { provider_name: 'X' } } } },
  { shape: 'Anthropic', body: { type: 'error', error: { type: 'invalid_request_error', message: said } } },
  { shape: 'plain text', body: said },
];

const wordless = [
  { name: 'an HTML page', body: '<html><body><h1>400 Bad Request</h1></body></html>' },
  { name: 'nothing', body: '' },
  { name: 'JSON without words', body: '{"ok":false}' },
  { name: 'an empty error', body: '{"error":""}' },
  { name: 'an empty message', body: '{"error":{"message":""}}' },
  { name: 'an empty detail', body: '{"detail":[]}' },
];

describe.each(bothWays)('an upstream error status ($way)', ({ stream }) => {
  it.each([400, 413, 422])('of %i becomes a 400 with the message of the upstream', async status => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(status, { error: { message: said, type: 'x' } }, { server: 'uvicorn' }));
    const response = await send(stream);
    expect(response.headers.get('server')).toBeNull();
    await expectRefusal(response, 400, 'invalid_request_error', said);
  });

  it.each(shapes)('has its message read from $shape', async ({ body, read }) => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(400, body, typeof body === 'string' ? { 'content-type': 'text/plain' } : {}));
    await expectRefusal(await send(stream), 400, 'invalid_request_error', read ?? said);
  });

  it.each(wordless)('has a generic message for $name', async ({ body }) => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(400, body, { 'content-type': 'text/html' }));
    const message = await expectRefusal(await send(stream), 400, 'invalid_request_error');
    expect(message).toMatch(/upstream provider refused/);
  });

  it.each([401, 403, 404])(
    'of %i becomes a configuration error, with details in the log only',
    async status => {
      const { upstream, send } = await hostileSetting();
      upstream.reply(whole(status, { error: { message: `no model for ${upstreamKey} at ${upstream.url}` } }));
      const message = await expectRefusal(await send(stream), 400, 'configuration_error');
      expect(message).not.toMatch(/no model for|sk-|http|401|403|404/);
    },
  );

  it.each([402, 409, 429, 500, 503, 529])('of %i becomes a provider error', async status => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(status, { error: { message: said } }, { 'retry-after': '17' }));
    const response = await send(stream);
    expect(response.headers.get('retry-after')).toBe('17');
    const message = await expectRefusal(response, 502, 'provider_error');
    expect(message).not.toContain(said);
  });

  it.each(shapes)('of 500 never exposes the message of $shape', async ({ body }) => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(500, body));
    const message = await expectRefusal(await send(stream), 502, 'provider_error');
    expect(message).not.toContain(said);
  });

  it.each([
    { status: 500, type: 'text/html', body: '<html><h1>nginx at gpu-7</h1></html>' },
    { status: 502, type: 'text/plain', body: 'upstream connect error at gpu-7' },
    { status: 302, type: 'text/html', body: 'moved to gpu-7' },
    { status: 418, type: 'text/plain', body: 'gpu-7 is a teapot' },
  ])('of $status as $type becomes a provider error', async ({ status, type, body }) => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(status, body, { 'content-type': type, location: 'http://gpu-7:8000/' }));
    const response = await send(stream);
    expect(response.headers.get('location')).toBeNull();
    expect(await expectRefusal(response, 502, 'provider_error')).not.toContain('gpu-7');
  });

  it('of 429 is passed on when pass_upstream_429 is set', async () => {
    const { upstream, send } = await hostileSetting({ provider: { pass_upstream_429: true } });
    upstream.reply(whole(429, { error: { message: said } }, { 'retry-after': '3' }));
    const response = await send(stream);
    expect(response.headers.get('retry-after')).toBe('3');
    expect(await expectRefusal(response, 429, 'rate_limit_error')).not.toContain(said);
  });

  it('counts even when its body is truncated', async () => {
    const { upstream, send } = await hostileSetting();
    const start = head(404, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
    upstream.reply(socket => {
      socket.write(start);
      socket.end(chunk('{"error":'));
    });
    await expectRefusal(await send(stream), 400, 'configuration_error');
  });

  it('counts even when its body arrives too slowly', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(socket => {
      socket.write(head(404, { 'content-type': 'application/json', 'content-length': 5000 }));
      const drip = setInterval(() => socket.write(' '), 100);
      socket.on('close', () => clearInterval(drip));
    });
    // Dripping to its end would take longer than the test.
    await expectRefusal(await send(stream), 400, 'configuration_error');
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('counts even when its body has an unsupported encoding', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(400, 'xxxx', { 'content-encoding': 'zstd' }));
    await expectRefusal(await send(stream), 400, 'invalid_request_error');
  });
});

describe('the Retry-After of an upstream', () => {
  const date = new Date(Date.now() + 60_000).toUTCString();

  it.each(['0', '30', date])('is copied when it is %s', async value => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(503, '', { 'retry-after': value }));
    expect((await send(false)).headers.get('retry-after')).toBe(value);
  });

  it.each(['soon', '-5', '1.5', '99999999999', '', 'Mon, tomorrow GMT', '5; url=http://gpu-7'])(
    'is dropped when it is %p',
    async value => {
      const { upstream, send } = await hostileSetting();
      upstream.reply(whole(503, '', { 'retry-after': value }));
      const response = await send(false);
      expect(response.headers.get('retry-after')).toBeNull();
      await expectRefusal(response, 502, 'provider_error');
    },
  );

  it('is dropped from a 400, which a retry does not fix', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(400, { error: said }, { 'retry-after': '5' }));
    expect((await send(false)).headers.get('retry-after')).toBeNull();
  });
});
