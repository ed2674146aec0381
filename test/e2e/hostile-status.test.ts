import { afterEach, describe, expect, it } from '@jest/globals';
import { upstreamKey } from '../support/gateway-under-test.ts';
import {
  bothWays,
  closeHealthy,
  expectNoTrace,
  expectRefusal,
  hostileSetting,
} from '../support/hostile-setting.ts';
import { chunk, head, whole } from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

const said = "temperature: 9 is above this server's 2";

/** The bodies of protocol b10 and what a client is to read in them. */
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

describe.each(bothWays)('an error status, $way', ({ stream }) => {
  it.each([400, 413, 422])('%i is the client’s fault and keeps the upstream’s words', async status => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(status, { error: { message: said, type: 'x' } }, { server: 'uvicorn' }));
    const response = await send(stream);
    expect(response.headers.get('server')).toBeNull();
    await expectRefusal(response, 400, 'invalid_request_error', said);
  });

  it.each(shapes)('reads the words of $shape', async ({ body, read }) => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(400, body, typeof body === 'string' ? { 'content-type': 'text/plain' } : {}));
    await expectRefusal(await send(stream), 400, 'invalid_request_error', read ?? said);
  });

  it.each(wordless)('has words of its own for $name', async ({ body }) => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(400, body, { 'content-type': 'text/html' }));
    const message = await expectRefusal(await send(stream), 400, 'invalid_request_error');
    expect(message).toMatch(/upstream provider refused/);
  });

  it.each([401, 403, 404])('%i is the operator’s fault, and only the log says which', async status => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(status, { error: { message: `no model for ${upstreamKey} at ${upstream.url}` } }));
    const message = await expectRefusal(await send(stream), 400, 'configuration_error');
    expect(message).not.toMatch(/no model for|sk-|http|401|403|404/);
  });

  it.each([402, 409, 429, 500, 503, 529])('%i is the provider’s fault', async status => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(status, { error: { message: said } }, { 'retry-after': '17' }));
    const response = await send(stream);
    expect(response.headers.get('retry-after')).toBe('17');
    const message = await expectRefusal(response, 502, 'provider_error');
    expect(message).not.toContain(said);
  });

  it.each(shapes)('never shows the words of a 500 of $shape', async ({ body }) => {
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
  ])('$status as $type is a provider error', async ({ status, type, body }) => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(status, body, { 'content-type': type, location: 'http://gpu-7:8000/' }));
    const response = await send(stream);
    expect(response.headers.get('location')).toBeNull();
    expect(await expectRefusal(response, 502, 'provider_error')).not.toContain('gpu-7');
  });

  it('passes the upstream’s own 429 on where the operator wants it', async () => {
    const { upstream, send } = await hostileSetting({ provider: { pass_upstream_429: true } });
    upstream.reply(whole(429, { error: { message: said } }, { 'retry-after': '3' }));
    const response = await send(stream);
    expect(response.headers.get('retry-after')).toBe('3');
    expect(await expectRefusal(response, 429, 'rate_limit_error')).not.toContain(said);
  });

  it('takes the status for granted when its body breaks off', async () => {
    const { upstream, send } = await hostileSetting();
    const start = head(404, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
    upstream.reply(socket => {
      socket.write(start);
      socket.end(chunk('{"error":'));
    });
    await expectRefusal(await send(stream), 400, 'configuration_error');
  });

  it('takes the status for granted when its body drips', async () => {
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

  it('takes the status for granted when its body is in an encoding that nobody asked for', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(400, 'xxxx', { 'content-encoding': 'zstd' }));
    await expectRefusal(await send(stream), 400, 'invalid_request_error');
  });
});

describe('Retry-After of the upstream', () => {
  const date = new Date(Date.now() + 60_000).toUTCString();

  it.each(['0', '30', date])('%s is copied', async value => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(503, '', { 'retry-after': value }));
    expect((await send(false)).headers.get('retry-after')).toBe(value);
  });

  it.each(['soon', '-5', '1.5', '99999999999', '', 'Mon, tomorrow GMT', '5; url=http://gpu-7'])(
    '%p is not',
    async value => {
      const { upstream, send } = await hostileSetting();
      upstream.reply(whole(503, '', { 'retry-after': value }));
      const response = await send(false);
      expect(response.headers.get('retry-after')).toBeNull();
      await expectRefusal(response, 502, 'provider_error');
    },
  );

  it('is not copied to errors that no waiting cures', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(400, { error: said }, { 'retry-after': '5' }));
    expect((await send(false)).headers.get('retry-after')).toBeNull();
  });
});

describe('the words of a refused request', () => {
  const cases = [
    {
      what: 'an address',
      text: 'see https://gpu-7.cluster.local:8000/v1/x?token=abc for more',
      not: /gpu-7|abc/,
    },
    { what: 'a key', text: 'bad key sk-proj-abcdef0123456789 here', not: /abcdef/ },
    { what: 'a bearer token', text: 'sent Bearer eyJhbGciOi.J9 here', not: /eyJ/ },
    { what: 'a host with its port', text: 'no route to gpu-7.cluster.local:8000 now', not: /gpu-7|8000/ },
    { what: 'an internal host', text: 'no route to gpu-7.prod.svc.cluster.local now', not: /gpu-7|cluster/ },
    { what: 'an IPv4 address', text: 'no route to 10.11.12.13 now', not: /10\.11/ },
    { what: 'an IPv4 address with its port', text: 'no route to 10.11.12.13:8000 now', not: /10\.11|8000/ },
    { what: 'an IPv6 address with its port', text: 'no route to [fd00::17]:8000 now', not: /fd00|8000/ },
    { what: 'a file of the server', text: 'raised in /usr/lib/vllm/engine.py at once', not: /vllm|engine/ },
  ];

  it.each(cases)('come without $what', async ({ text, not }) => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(400, { error: { message: text } }));
    const message = await expectRefusal(await send(false), 400, 'invalid_request_error');
    expect(message).not.toMatch(not);
    // The rest is what the client needs.
    expect(message.startsWith(text.split(' ')[0] ?? '')).toBe(true);
    expect(message.endsWith(text.split(' ').at(-1) ?? '')).toBe(true);
  });

  it('come without a traceback', async () => {
    const { upstream, send } = await hostileSetting();
    const trace =
      'Traceback (most recent call last):\n  File "/app/serve.py", line 7, in generate\n    secret_function(prompt)\nValueError: bad';
    upstream.reply(whole(400, { error: { message: `The prompt is too long.\n${trace}` } }));
    const message = await expectRefusal(await send(false), 400, 'invalid_request_error');
    expect(message).toContain('The prompt is too long.');
    expect(message).not.toMatch(/Traceback|serve\.py|secret_function/);
  });

  it('come without what the operator’s configuration sends', async () => {
    const provider = { api_key: 'Unmistakable.Key', headers: { 'x-team': 'very-internal-team' } };
    const { upstream, send } = await hostileSetting({ provider });
    const text = 'You sent Unmistakable.Key for very-internal-team and too many words';
    upstream.reply(whole(400, { error: { message: text } }));
    const message = await expectRefusal(await send(false), 400, 'invalid_request_error');
    expect(message).toBe('You sent [secret] for [secret] and too many words');
    expect(upstream.last.headers).toMatchObject({
      authorization: 'Bearer Unmistakable.Key',
      'x-team': 'very-internal-team',
    });
  });

  it('are cut at 2,000 characters', async () => {
    const { upstream, send } = await hostileSetting();
    upstream.reply(whole(400, { error: { message: `Too long: ${'prompt '.repeat(1000)}` } }));
    const message = await expectRefusal(await send(false), 400, 'invalid_request_error');
    expect(message.length).toBeLessThanOrEqual(2000);
    expect(message).toMatch(/^Too long: prompt prompt/);
  });

  it.each(['a.', 'a-', ' \n', 'key-', '1.', '[:'])(
    'do not cost time when they are made of %p',
    async piece => {
      const { upstream, send } = await hostileSetting();
      upstream.reply(whole(400, { error: { message: `Bad: ${piece.repeat(200_000)}` } }));
      const start_ms = performance.now();
      const message = await expectRefusal(await send(false), 400, 'invalid_request_error');
      expect(message.length).toBeLessThanOrEqual(2000);
      // A pattern that backtracks over all of it would take minutes.
      expect(performance.now() - start_ms).toBeLessThan(5000);
    },
  );

  it('are given up when the body is too large to be read', async () => {
    const { upstream, send } = await hostileSetting();
    const input = 'prompt '.repeat(300_000);
    upstream.reply(whole(422, { detail: [{ input, loc: ['body'], msg: 'Too long.' }] }));
    const message = await expectRefusal(await send(false), 400, 'invalid_request_error');
    expect(message).toMatch(/upstream provider refused/);
  });

  it('are found behind an echo of the prompt', async () => {
    const { upstream, send } = await hostileSetting();
    const input = 'prompt '.repeat(50_000);
    upstream.reply(whole(422, { detail: [{ input, loc: ['body', 'messages'], msg: 'Too long.' }] }));
    await expectRefusal(await send(false), 400, 'invalid_request_error', 'messages: Too long.');
  });

  it('keep what only looks like a secret', async () => {
    const { upstream, send } = await hostileSetting();
    const text = 'max_tokens: 99999 exceeds 32768 (version 0.11.2); see "temperature" and "top_p".';
    upstream.reply(whole(400, { error: { message: text } }));
    const response = await send(false);
    expectNoTrace('', response.headers, upstream);
    await expectRefusal(response, 400, 'invalid_request_error', text);
  });
});
