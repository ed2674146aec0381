import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createProxyMiddleware, type Options } from 'http-proxy-middleware';
import { errorEnvelope } from '../../src/index.ts';
import { allStages, chainOf, post, proxyTo } from '../support/chain-app.ts';
import { alongside, closeApps, type RunningApp, startApp } from '../support/express-app.ts';
import { brokenStream } from '../support/foreign-replies.ts';
import { ask, eventsOf } from '../support/gateway-under-test.ts';
import { bothWays, delta, expectRefusal, finished, said } from '../support/hostile-setting.ts';
import {
  chunk,
  events,
  pieces,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  streamHead,
  thenReset,
  whole,
} from '../support/scripted-upstream.ts';

let upstream: ScriptedUpstream;
/** All stages in front of the application's own proxy, as its authors write it. */
let app: RunningApp;
const proxied = (options: Options = {}) =>
  startApp(app => {
    const target = new URL(upstream.url).origin;
    app.use(chainOf(), createProxyMiddleware({ target, ...options }));
  });

beforeAll(async () => {
  upstream = alongside(await startScriptedUpstream());
  app = await proxied();
});

afterAll(closeApps);

const askFor = (of: RunningApp, stream: boolean) =>
  post(`${of.url}/v1/chat/completions`, ask('Hello?', { stream }));

describe.each(bothWays)('the errors of a proxied upstream ($way)', ({ stream }) => {
  const error = { error: { message: 'CUDA out of memory at 10.0.0.7:8000', type: 'internal' } };

  const html = { 'content-type': 'text/html' };
  it.each([
    ['500 with JSON', whole(500, error), 502],
    ['503 with HTML', whole(503, '<h1>down</h1>', html), 502],
    ['429', whole(429, error), 502],
    ['401', whole(401, { error: 'Unauthorized' }), 400],
    ['404', whole(404, { detail: 'Not Found' }), 400],
    ['302', whole(302, '', { location: 'http://10.0.0.7/' }), 502],
    ['200 with HTML', whole(200, '<h1>hi</h1>', html), 502],
    ['200 with an error', whole(200, error), 502],
    ['200 without a body', whole(200, ''), 502],
    ['200 with half a JSON', whole(200, '{"choices": ['), 502],
    ['bytes that are not HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', 502],
  ])('become an error in the OpenAI format: %s', async (_, script, status) => {
    upstream.reply(script);
    const reply = await askFor(app, stream);
    const type = status === 502 ? 'provider_error' : 'configuration_error';
    expect(await expectRefusal(reply, status, type)).not.toMatch(/10\.0\.0\.7|CUDA|Error occurred/);
    expect(reply.headers.get('location')).toBeNull();
    expect(app.errors).toEqual([]);
  });

  it('keep the message of a rejected request without addresses', async () => {
    upstream.reply(whole(400, { error: { message: 'top_p is odd, says http://10.0.0.7:8000/v1' } }));
    const message = await expectRefusal(await askFor(app, stream), 400, 'invalid_request_error');
    expect(message).toBe('top_p is odd, says [address]');
  });

  it('carry a valid Retry-After, no invalid one, and no WWW-Authenticate', async () => {
    upstream.reply(whole(429, error, { 'retry-after': '7' }));
    expect((await askFor(app, stream)).headers.get('retry-after')).toBe('7');
    upstream.reply(whole(503, error, { 'retry-after': 'soon' }));
    expect((await askFor(app, stream)).headers.get('retry-after')).toBeNull();
    upstream.reply(whole(401, error, { 'www-authenticate': 'Basic realm="upstream"' }));
    expect((await askFor(app, stream)).headers.get('www-authenticate')).toBeNull();
  });

  it('reveal no address when the connection is refused', async () => {
    const gone = await startScriptedUpstream();
    const other = await startApp(app => app.use(chainOf(), proxyTo(gone)));
    await gone.close();
    const message = await expectRefusal(await askFor(other, stream), 502, 'provider_error');
    expect(message).not.toMatch(/127\.0\.0\.1|localhost|chat|ECONNREFUSED/);
    expect(other.errors).toEqual([]);
  });

  it('become a 502 even when the error callback of the proxy answers', async () => {
    upstream.reply(thenReset());
    const answering = await proxied({
      on: { error: (_error, _request, response) => void response.end('own words, status 200') },
    });
    await expectRefusal(await askFor(answering, stream), 502, 'provider_error');
  });

  it('reach the parent application when the proxy does not answer them, and still become a 502', async () => {
    upstream.reply(thenReset());
    const silent = await proxied({ ejectPlugins: true });
    await expectRefusal(await askFor(silent, stream), 502, 'provider_error');
    expect(silent.errors).toHaveLength(1);
  });
});

describe('a proxied stream that fails after its first content', () => {
  const begun = [
    streamHead(),
    chunk(events(delta({ role: 'assistant', content: '' }), said('So '), said('far.'))),
  ];

  it('shows no text that the proxy appends after a cut within an event', async () => {
    upstream.reply(thenReset(...begun, 'ff\r\ndata: {"choices":[{"index":0,"delta":{"con'));
    const { content } = await brokenStream(await askFor(app, true));
    expect(content).toBe('So far.');
  });

  it('is complete when the upstream resets after every choice has ended', async () => {
    upstream.reply(thenReset(...begun, chunk(events(finished()))));
    const all = eventsOf(await (await askFor(app, true)).text());
    expect(all.at(-1)?.data).toBe('[DONE]');
    expect(all.at(-2)?.json.choices?.[0]?.finish_reason).toBe('stop');
    expect(all.at(-2)?.json.usage?.completion_tokens).toBeGreaterThan(0);
  });

  it('keeps the client connected with heartbeat comments when the upstream stalls past stream_commit_ms', async () => {
    upstream.reply(async socket => {
      // biome-ignore lint/plugin: longer than stream_commit_ms.
      await new Promise(resolve => setTimeout(resolve, 400));
      socket.write(whole(500, 'too late for a status'));
    });
    const slow = await startApp(app => {
      app.use(chainOf(allStages(), { stream_commit_ms: 50, keepalive_ms: 50 }), proxyTo(upstream));
    });
    const reply = await askFor(slow, true);
    expect(reply.status).toBe(200);
    const text = await reply.text();
    expect(text.match(/^: keep-alive\n\n/gm)?.length).toBeGreaterThanOrEqual(2);
    expect(text).toMatch(/\n\ndata: \{"error":.*"provider_error"\}\}\n\ndata: \[DONE\]\n\n$/);
  });
});

describe('the error format with openai_fields', () => {
  it('includes param and code in JSON replies and in streams', async () => {
    const compatible = await startApp(app => {
      const stages = [errorEnvelope({ openai_fields: true }), ...allStages().slice(1)];
      app.use(chainOf(stages), proxyTo(upstream));
    });
    upstream.reply(whole(500, 'no'));
    expect(await (await askFor(compatible, false)).json()).toEqual({
      error: { message: expect.any(String), type: 'provider_error', param: null, code: 'provider_error' },
    });
    upstream.reply(pieces([streamed(events(said('So far.')))]));
    const all = eventsOf(await (await askFor(compatible, true)).text());
    expect(all.at(-2)?.json.error).toMatchObject({ param: null, code: 'provider_broke_off' });
  });
});
