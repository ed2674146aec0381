import { afterEach, describe, expect, it } from '@jest/globals';
import { createProxyMiddleware, responseInterceptor } from 'http-proxy-middleware';
import { startSimulator } from '../../src/simulator/server.ts';
import { chainOf, post, proxyTo } from '../support/chain-app.ts';
import { alongside, closeApps, startApp } from '../support/express-app.ts';
import { chatOf, stream, whole } from '../support/foreign-replies.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { send } from '../support/raw-client.ts';
import {
  lastChunk,
  pieces,
  chunk as scripted,
  startScriptedUpstream,
  streamHead,
} from '../support/scripted-upstream.ts';

afterEach(closeApps);

describe('a whole reply of a handler to a streaming client', () => {
  it('is streamed in many events if it is long', async () => {
    const content = 'word '.repeat(1_000_000);
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
    const chat = await chatOf((_request, response) => response.json({ choices }));
    const events = eventsOf(await (await post(chat, ask('Hello?', { stream: true }))).text());
    const read = events.map(({ json }) => json.choices?.[0]?.delta?.content ?? '').join('');
    expect([read === content, events.length > 50, events.at(-1)?.data]).toEqual([true, true, '[DONE]']);
  });
});

describe('the response headers of a chain', () => {
  const replyWith = async (headers: Record<string, string | string[]>, body: string, streaming: boolean) => {
    const chat = await chatOf(
      (_request, response) => {
        for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
        response.end(body);
      },
      app =>
        app.use((_request, response, next) => {
          response.setHeader('x-of-the-parent', 'kept');
          next();
        }),
    );
    return send(chat, {
      method: 'POST',
      headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(ask('Hello?', { stream: streaming })),
    });
  };

  it.each([
    ['JSON', false, whole],
    ['a stream', true, stream.join('')],
  ])(
    'keep those of the handler and the parent for %s, except content-length, etag and hop-by-hop headers',
    async (_, streaming, body) => {
      const { headers } = await replyWith(
        {
          'content-type': streaming ? 'text/event-stream' : 'application/json',
          'content-length': String(Buffer.byteLength(body)),
          etag: '"of-other-bytes"',
          server: 'uvicorn',
          'x-powered-by': 'upstream',
          connection: 'close',
          'keep-alive': 'timeout=7',
          'x-own': 'kept',
          'set-cookie': ['a=1', 'b=2'],
          'access-control-allow-origin': '*',
        },
        body,
        streaming,
      );
      expect(headers).toMatchObject({
        'x-own': 'kept',
        'x-of-the-parent': 'kept',
        'set-cookie': ['a=1', 'b=2'],
        'access-control-allow-origin': '*',
        'x-powered-by': 'Express',
        'x-request-id': expect.stringMatching(/^req_/),
      });
      for (const name of ['etag', 'server']) expect(headers).not.toHaveProperty(name);
      expect(headers['keep-alive']).not.toBe('timeout=7');
      if (streaming) expect(headers).not.toHaveProperty('content-length');
      else expect(headers['content-length']).not.toBe(String(Buffer.byteLength(body)));
    },
  );

  it('have the status text of the status that is sent, not of the one that the handler set', async () => {
    const chat = await chatOf((_request, response) => {
      response.statusMessage = 'Very Own Words';
      response.status(503).setHeader('retry-after', 'whenever').end('busy');
    });
    const reply = await post(chat, ask('Hello?'));
    expect([reply.status, reply.statusText]).toEqual([502, 'Bad Gateway']);
    expect(reply.headers.get('retry-after')).toBeNull();
  });
});

describe('a reply through the proxy of the application', () => {
  it.each(['field', 'tags', 'reasoning_content'] as const)(
    'has its reasoning split when the upstream sends it as %s',
    async reasoning => {
      const simulator = alongside(await startSimulator({ reasoning }));
      const app = await startApp(app => app.use(chainOf(), proxyTo(simulator)));
      const chat = `${app.url}/v1/chat/completions`;
      const question = 'Hello? [[sim:reasoning_tokens=5]] [[sim:say=The answer.]]';
      const reply = (await (await post(chat, ask(question))).json()) as {
        choices: { message: { content: string; reasoning: string } }[];
      };
      const { content, reasoning: thoughts } = reply.choices[0]!.message;
      expect(content).toBe('The answer.');
      expect(thoughts.length).toBeGreaterThan(5);
      const events = eventsOf(await (await post(chat, ask(question, { stream: true }))).text());
      const joined = (name: 'content' | 'reasoning') =>
        events.map(({ json }) => json.choices?.[0]?.delta[name] ?? '').join('');
      expect([joined('content'), joined('reasoning')]).toEqual([content, thoughts]);
    },
  );

  it('passes through the stages even when the proxy rewrites it', async () => {
    const simulator = alongside(await startSimulator());
    const rewriting = createProxyMiddleware({
      target: new URL(simulator.url).origin,
      selfHandleResponse: true,
      on: {
        proxyRes: responseInterceptor(async body => body.toString().replace('The answer.', 'Rewritten.')),
      },
    });
    const app = await startApp(app => app.use(chainOf(), rewriting));
    const question = 'Hello? [[sim:reasoning_tokens=2]] [[sim:say=The answer.]]';
    const reply = await post(`${app.url}/v1/chat/completions`, ask(question));
    expect(await reply.json()).toMatchObject({
      model: 'aion-labs/aion-3.5',
      choices: [{ message: { content: 'Rewritten.', reasoning: expect.any(String) } }],
    });
  });

  it('has running usage on every chunk when the client asks for it', async () => {
    const simulator = alongside(await startSimulator());
    const app = await startApp(app => app.use(chainOf(), proxyTo(simulator)));
    const request = ask('Hello? [[sim:tokens=5 reasoning_tokens=3]]', {
      stream: true,
      stream_options: { continuous_usage_stats: true },
    });
    const reply = await post(`${app.url}/v1/chat/completions`, request);
    const counts = eventsOf(await reply.text()).flatMap(({ json }) => json.usage?.completion_tokens ?? []);
    expect(counts[0]).toBe(0);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(counts.length).toBeGreaterThanOrEqual(9);
  });

  it('leaves the upstream connection reusable when the stream ends after [DONE]', async () => {
    const upstream = alongside(
      await startScriptedUpstream(
        pieces(
          [streamHead(), scripted(stream.slice(0, -1).join('')), scripted('data: [DONE]\n\n'), lastChunk],
          30,
        ),
      ),
    );
    const app = await startApp(app => app.use(chainOf(), proxyTo(upstream)));
    for (let count = 0; count < 3; count++) {
      const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?', { stream: true }));
      expect(eventsOf(await reply.text()).at(-1)?.data).toBe('[DONE]');
    }
    expect(upstream.requests.map(({ connection }) => connection)).toEqual([0, 0, 0]);
  });

  it('ends after [DONE] even when the upstream keeps the stream open', async () => {
    const upstream = alongside(
      await startScriptedUpstream(pieces([streamHead(), scripted(stream.join(''))])),
    );
    const app = await startApp(app => app.use(chainOf(), proxyTo(upstream)));
    const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?', { stream: true }));
    expect(eventsOf(await reply.text()).at(-1)?.data).toBe('[DONE]');
    // Not cut in the middle of a reply by us: the proxy gives up what its client no longer waits for.
    expect(await upstream.last.closed).toBe('gateway');
  });
});
