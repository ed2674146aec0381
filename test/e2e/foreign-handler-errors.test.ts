import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createProxyMiddleware, type Options } from 'http-proxy-middleware';
import { chainOf, post } from '../support/chain-app.ts';
import { alongside, closeApps, type RunningApp, startApp } from '../support/express-app.ts';
import { ask } from '../support/gateway-under-test.ts';
import { bothWays, completion, expectRefusal } from '../support/hostile-setting.ts';
import {
  head,
  type ScriptedUpstream,
  startScriptedUpstream,
  thenClose,
  thenReset,
  whole,
} from '../support/scripted-upstream.ts';

const chat = '/v1/chat/completions';
let upstream: ScriptedUpstream;

beforeEach(async () => {
  upstream = alongside(await startScriptedUpstream());
});

afterEach(closeApps);

/** All stages in front of the application's own proxy, as its authors write it. */
const proxied = (options: Options = {}) =>
  startApp(app => {
    const target = new URL(upstream.url).origin;
    app.use(chainOf(), createProxyMiddleware({ target, ...options }));
  });

const askFor = (app: RunningApp, stream: boolean) => post(app.url + chat, ask('Hello?', { stream }));

describe.each(bothWays)('the errors of a proxied upstream ($way)', ({ stream }) => {
  const error = { error: { message: 'CUDA out of memory at 10.0.0.7:8000', type: 'internal' } };

  it.each([
    ['500 with JSON', whole(500, error), 502, 'provider_error', 'The upstream provider returned an error.'],
    [
      '503 with HTML',
      whole(503, '<h1>down</h1>', { 'content-type': 'text/html' }),
      502,
      'provider_error',
      undefined,
    ],
    ['500 without a body', whole(500, ''), 502, 'provider_error', undefined],
    ['429', whole(429, error), 502, 'provider_error', undefined],
    ['401', whole(401, { error: 'Unauthorized' }), 400, 'configuration_error', undefined],
    ['404', whole(404, { detail: 'Not Found' }), 400, 'configuration_error', undefined],
    ['302', whole(302, '', { location: 'http://10.0.0.7/' }), 502, 'provider_error', undefined],
    [
      '200 with HTML',
      whole(200, '<h1>hi</h1>', { 'content-type': 'text/html' }),
      502,
      'provider_error',
      undefined,
    ],
    ['200 with an error', whole(200, error), 502, 'provider_error', undefined],
    ['200 without a body', whole(200, ''), 502, 'provider_error', undefined],
    ['200 with half a JSON', whole(200, '{"choices": ['), 502, 'provider_error', undefined],
  ])('become an error in the OpenAI format: %s', async (_, script, status, type, message) => {
    upstream.reply(script);
    const app = await proxied();
    const reply = await askFor(app, stream);
    const text = await expectRefusal(reply, status, type, message);
    expect(text).not.toMatch(/10\.0\.0\.7|CUDA|Error occurred/);
    expect(reply.headers.get('location')).toBeNull();
    expect(app.errors).toEqual([]);
  });

  it('keep the message of a rejected request without addresses', async () => {
    upstream.reply(whole(400, { error: { message: 'top_p is odd, says http://10.0.0.7:8000/v1' } }));
    const message = await expectRefusal(await askFor(await proxied(), stream), 400, 'invalid_request_error');
    expect(message).toBe('top_p is odd, says [address]');
  });

  it('carry a valid Retry-After, no invalid one, and no WWW-Authenticate', async () => {
    const app = await proxied();
    upstream.reply(whole(429, error, { 'retry-after': '7' }));
    expect((await askFor(app, stream)).headers.get('retry-after')).toBe('7');
    upstream.reply(whole(503, error, { 'retry-after': 'soon' }));
    expect((await askFor(app, stream)).headers.get('retry-after')).toBeNull();
    upstream.reply(whole(401, error, { 'www-authenticate': 'Basic realm="upstream"' }));
    expect((await askFor(app, stream)).headers.get('www-authenticate')).toBeNull();
  });

  it('reveal no address when the connection is refused', async () => {
    const app = await proxied();
    await upstream.close();
    const message = await expectRefusal(await askFor(app, stream), 502, 'provider_error');
    expect(message).not.toMatch(/127\.0\.0\.1|localhost|chat|ECONNREFUSED/);
    expect(app.errors).toEqual([]);
  });

  it.each([
    ['a reset', thenReset()],
    ['a close', thenClose()],
    ['bytes that are not HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ])('become a 502 when the upstream fails before its reply with %s', async (_, script) => {
    upstream.reply(script);
    await expectRefusal(await askFor(await proxied(), stream), 502, 'provider_error');
  });

  it('become a 502 even when the error callback of the proxy answers', async () => {
    upstream.reply(thenReset());
    const app = await proxied({
      on: { error: (_error, _request, response) => void response.end('own words, status 200') },
    });
    await expectRefusal(await askFor(app, stream), 502, 'provider_error');
  });

  it('reach the parent application when the proxy does not answer them, and still become a 502', async () => {
    upstream.reply(thenReset());
    const app = await proxied({ ejectPlugins: true });
    await expectRefusal(await askFor(app, stream), 502, 'provider_error');
    expect(app.errors).toHaveLength(1);
  });
});

describe('a proxied whole reply that breaks off', () => {
  const body = JSON.stringify(completion('So far.'));
  const half =
    head(200, { 'content-type': 'application/json', 'content-length': body.length }) + body.slice(0, 60);

  it.each([
    ['a reset', thenReset(half)],
    ['a close', thenClose(half)],
  ])('becomes a 502 after %s', async (_, script) => {
    upstream.reply(script);
    await expectRefusal(await askFor(await proxied(), false), 502, 'provider_error');
  });
});
