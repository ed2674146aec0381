import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Express } from 'express';
import { createProxyMiddleware, type Options } from 'http-proxy-middleware';
import { auth, errorEnvelope, validation } from '../../src/index.ts';
import { allStages, chainOf, post, proxyTo, settlements } from '../support/chain-app.ts';
import { closeApps, type RunningApp, startApp } from '../support/express-app.ts';
import { ask, eventsOf } from '../support/gateway-under-test.ts';
import { bothWays, completion, delta, expectRefusal, finished, said } from '../support/hostile-setting.ts';
import {
  chunk,
  events,
  head,
  lastChunk,
  pieces,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  streamHead,
  thenClose,
  thenReset,
  whole,
} from '../support/scripted-upstream.ts';

const chat = '/v1/chat/completions';
let upstream: ScriptedUpstream;

beforeEach(async () => {
  upstream = await startScriptedUpstream();
});

afterEach(async () => {
  await closeApps();
  await upstream.close();
});

/** All stages in front of the application's own proxy, as its authors write it. */
const proxied = (options: Options = {}) =>
  startApp(app => {
    const target = new URL(upstream.url).origin;
    app.use(chainOf(), createProxyMiddleware({ target, ...options }));
  });

/** All stages in front of a handler of the application. */
const handled = (handler: (app: Express) => unknown) =>
  startApp(async app => {
    app.use(chainOf());
    await handler(app);
  });

const askFor = (app: RunningApp, stream: boolean) => post(app.url + chat, ask('Hello?', { stream }));

/** What is told of a broken stream: the content before it, and the error. */
async function brokenStream(reply: Response): Promise<{ content: string; message: string }> {
  expect(reply.status).toBe(200);
  const text = await reply.text();
  expect(text).not.toContain('Error occurred');
  const all = eventsOf(text);
  const [error, done] = all.slice(-2);
  expect(done?.data).toBe('[DONE]');
  expect(error?.json).toEqual({ error: { type: 'provider_error', message: expect.any(String) } });
  const choices = all.flatMap(({ json }) => json.choices ?? []);
  expect(choices.flatMap(({ finish_reason }) => finish_reason ?? [])).toEqual([]);
  const content = choices.map(choice => choice.delta.content ?? '').join('');
  return { content, message: error?.json.error?.message ?? '' };
}

describe.each(bothWays)('behind the proxy, $way:', ({ stream }) => {
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
  ])('%s becomes the one envelope', async (_, script, status, type, message) => {
    upstream.reply(script);
    const app = await proxied();
    const reply = await askFor(app, stream);
    const text = await expectRefusal(reply, status, type, message);
    expect(text).not.toMatch(/10\.0\.0\.7|CUDA|Error occurred/);
    expect(reply.headers.get('location')).toBeNull();
    expect(app.errors).toEqual([]);
  });

  it('passes on what a refused request was refused for, without addresses', async () => {
    upstream.reply(whole(400, { error: { message: 'top_p is odd, says http://10.0.0.7:8000/v1' } }));
    const message = await expectRefusal(await askFor(await proxied(), stream), 400, 'invalid_request_error');
    expect(message).toBe('top_p is odd, says [address]');
  });

  it('copies a valid Retry-After and no other, and no challenge', async () => {
    const app = await proxied();
    upstream.reply(whole(429, error, { 'retry-after': '7' }));
    expect((await askFor(app, stream)).headers.get('retry-after')).toBe('7');
    upstream.reply(whole(503, error, { 'retry-after': 'soon' }));
    expect((await askFor(app, stream)).headers.get('retry-after')).toBeNull();
    upstream.reply(whole(401, error, { 'www-authenticate': 'Basic realm="upstream"' }));
    expect((await askFor(app, stream)).headers.get('www-authenticate')).toBeNull();
  });

  it('a refused connection, for which the proxy writes a text of its own, says nothing of where it went', async () => {
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
  ])('%s before the reply has begun', async (_, script) => {
    upstream.reply(script);
    await expectRefusal(await askFor(await proxied(), stream), 502, 'provider_error');
  });

  it('an error of the proxy that its owner answers himself', async () => {
    upstream.reply(thenReset());
    const app = await proxied({
      on: { error: (_error, _request, response) => void response.end('own words, status 200') },
    });
    await expectRefusal(await askFor(app, stream), 502, 'provider_error');
  });

  it('an error of the proxy that nobody answers goes to the parent, whose words are not shown', async () => {
    upstream.reply(thenReset());
    const app = await proxied({ ejectPlugins: true });
    await expectRefusal(await askFor(app, stream), 502, 'provider_error');
    expect(app.errors).toHaveLength(1);
  });
});

describe('behind the proxy, in the middle of a stream', () => {
  const begun = [
    streamHead(),
    chunk(events(delta({ role: 'assistant', content: '' }), said('So '), said('far.'))),
  ];

  it.each([
    ['a reset', thenReset(...begun), 'The upstream provider closed the stream unexpectedly.'],
    ['a close', thenClose(...begun), 'The upstream provider closed the stream unexpectedly.'],
    [
      'an end without finish reason',
      Buffer.concat([...begun.map(part => Buffer.from(part)), Buffer.from(lastChunk)]),
      'The upstream provider closed the stream unexpectedly.',
    ],
    [
      'an error event',
      thenClose(...begun, chunk(events({ error: { message: 'CUDA' } })), lastChunk),
      'The upstream provider returned an error.',
    ],
    [
      'an event that is not JSON',
      thenClose(...begun, chunk('data: {"choices"\n\n'), lastChunk),
      'The upstream provider returned an invalid response.',
    ],
  ])('%s becomes one error event and the end', async (_, script, message) => {
    upstream.reply(script);
    const app = await proxied();
    expect(await brokenStream(await askFor(app, true))).toEqual({ content: 'So far.', message });
    expect(app.errors).toEqual([]);
  });

  it('a cut within an event, to which the proxy adds words of its own', async () => {
    upstream.reply(thenReset(...begun, 'ff\r\ndata: {"choices":[{"index":0,"delta":{"con'));
    const { content } = await brokenStream(await askFor(await proxied(), true));
    expect(content).toBe('So far.');
  });

  it('a reset after every choice has ended takes nothing from the client', async () => {
    upstream.reply(thenReset(...begun, chunk(events(finished()))));
    const all = eventsOf(await (await askFor(await proxied(), true)).text());
    expect(all.at(-1)?.data).toBe('[DONE]');
    expect(all.at(-2)?.json.choices?.[0]?.finish_reason).toBe('stop');
    expect(all.at(-2)?.json.usage?.completion_tokens).toBeGreaterThan(0);
  });

  it('a stall past the time for which the status is held back is bridged by comments', async () => {
    upstream.reply(async socket => {
      await new Promise(resolve => setTimeout(resolve, 400));
      socket.write(whole(500, 'too late for a status'));
    });
    const app = await startApp(app => {
      app.use(chainOf(allStages(), { stream_commit_ms: 50, keepalive_ms: 50 }), proxyTo(upstream));
    });
    const reply = await askFor(app, true);
    expect(reply.status).toBe(200);
    const text = await reply.text();
    expect(text.match(/^: keep-alive\n\n/gm)?.length).toBeGreaterThanOrEqual(2);
    expect(text).toMatch(/\n\ndata: \{"error":.*"provider_error"\}\}\n\ndata: \[DONE\]\n\n$/);
  });
});

describe('behind the proxy, in the middle of a reply that is not streamed', () => {
  const body = JSON.stringify(completion('So far.'));
  const half =
    head(200, { 'content-type': 'application/json', 'content-length': body.length }) + body.slice(0, 60);

  it.each([
    ['a reset', thenReset(half)],
    ['a close', thenClose(half)],
  ])('%s becomes an error status', async (_, script) => {
    upstream.reply(script);
    await expectRefusal(await askFor(await proxied(), false), 502, 'provider_error');
  });
});

describe('a handler of the application', () => {
  it.each(bothWays)(
    'that passes an error on ($way): the parent answers it, in the envelope',
    async ({ stream }) => {
      const app = await handled(app => app.use((_request, _response, next) => next(new Error('secret'))));
      const reply = await askFor(app, stream);
      const message = await expectRefusal(reply, 502, 'provider_error');
      expect(message).not.toMatch(/secret|parent error/);
      expect(app.errors).toMatchObject([{ message: 'secret' }]);
    },
  );

  it.each(bothWays)('that throws before it has replied ($way)', async ({ stream }) => {
    const app = await handled(app =>
      app.use(async () => {
        throw new Error('secret');
      }),
    );
    await expectRefusal(await askFor(app, stream), 502, 'provider_error');
  });

  it.each(bothWays)('that destroys the response before it has replied ($way)', async ({ stream }) => {
    const app = await handled(app => app.use((_request, response) => void response.destroy()));
    const message = 'The upstream provider could not be reached.';
    await expectRefusal(await askFor(app, stream), 502, 'provider_error', message);
  });

  it('that destroys the response in the middle', async () => {
    const app = await handled(app =>
      app.use((_request, response) => {
        response.type('text/event-stream').write(events(said('So far.')));
        setTimeout(() => response.destroy(), 20);
      }),
    );
    const broken = await brokenStream(await askFor(app, true));
    expect(broken).toEqual({
      content: 'So far.',
      message: 'The upstream provider closed the stream unexpectedly.',
    });
  });

  it('that throws in the middle of its stream: the connection is cut, never ended as if the stream were whole', async () => {
    const { outcomes, stage } = settlements();
    const app = await startApp(app => {
      app.use(chainOf([stage, ...allStages()]), async (_request, response) => {
        response.type('text/event-stream').write(events(said('So far.')));
        await new Promise(resolve => setTimeout(resolve, 30));
        throw new Error('secret');
      });
    });
    const reply = await askFor(app, true);
    expect(reply.status).toBe(200);
    await expect(reply.text()).rejects.toThrow();
    expect(outcomes).toMatchObject([{ status: 200, end_reason: 'client_gone' }]);
  });

  it('that begins after the status could no longer be held back may still set headers', async () => {
    const app = await startApp(app => {
      app.use(chainOf(allStages(), { stream_commit_ms: 30 }), async (_request, response) => {
        await new Promise(resolve => setTimeout(resolve, 150));
        response.set('x-late', 'yes').type('text/event-stream').status(200);
        response.write(events(said('Late.')));
        response.end(events(finished(), '[DONE]'));
      });
    });
    const reply = await askFor(app, true);
    expect(reply.headers.get('x-late')).toBeNull();
    const text = await reply.text();
    expect(text).toContain('"content":"Late."');
    expect(text).toMatch(/"finish_reason":"stop".*data: \[DONE\]\n\n$/s);
    expect(app.errors).toEqual([]);
  });

  it('that is not there: the parent says 404, in the envelope', async () => {
    await expectRefusal(await askFor(await handled(() => {}), false), 400, 'configuration_error');
  });

  it('that throws while it is called, in a plain Node server', async () => {
    const chain = chainOf();
    const app = await startApp(app =>
      app.use((request, response) =>
        chain(request, response, () => {
          throw new Error('secret');
        }),
      ),
    );
    const message = await expectRefusal(await askFor(app, false), 502, 'server_error');
    expect(message).not.toContain('secret');
  });

  it('whose reply nobody looks back at keeps its errors', async () => {
    const app = await startApp(app => {
      app.use(chainOf([auth(), validation()]));
      app.use((_request, response) => void response.status(418).send('<b>own</b>'));
    });
    const reply = await askFor(app, true);
    expect([reply.status, await reply.text()]).toEqual([418, '<b>own</b>']);
  });
});

describe('the envelope', () => {
  it('has the further fields of OpenAI where they are asked for, also in a stream', async () => {
    const app = await startApp(app => {
      const stages = [errorEnvelope({ openai_fields: true }), ...allStages().slice(1)];
      app.use(chainOf(stages), proxyTo(upstream));
    });
    upstream.reply(whole(500, 'no'));
    expect(await (await askFor(app, false)).json()).toEqual({
      error: { message: expect.any(String), type: 'provider_error', param: null, code: 'provider_error' },
    });
    upstream.reply(pieces([streamed(events(said('So far.')))]));
    const all = eventsOf(await (await askFor(app, true)).text());
    expect(all.at(-2)?.json.error).toMatchObject({ param: null, code: 'provider_broke_off' });
  });
});
