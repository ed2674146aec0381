import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import compression from 'compression';
import type { Response as ExpressResponse, Request } from 'express';
import { createProxyMiddleware, responseInterceptor } from 'http-proxy-middleware';
import { startSimulator } from '../../src/simulator/server.ts';
import { allStages, chainOf, post, proxyTo } from '../support/chain-app.ts';
import { closeApps, startApp } from '../support/express-app.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { send } from '../support/raw-client.ts';
import {
  lastChunk,
  pieces,
  chunk as scripted,
  startScriptedUpstream,
  streamHead,
} from '../support/scripted-upstream.ts';

type Handler = (request: Request, response: ExpressResponse) => unknown;
const closing: { close(): Promise<void> }[] = [];

afterEach(async () => {
  await closeApps();
  await Promise.all(closing.splice(0).map(server => server.close()));
});

async function simulate(options: Parameters<typeof startSimulator>[0] = {}) {
  const simulator = await startSimulator(options);
  closing.push(simulator);
  return simulator;
}

/** The chat endpoint of an application whose handler behind the chain is `handler`. */
async function chatOf(handler: Handler, ...before: Parameters<typeof startApp>[0][]): Promise<string> {
  const app = await startApp(async app => {
    for (const build of before) await build(app);
    app.use(chainOf(), handler as never);
  });
  return `${app.url}/v1/chat/completions`;
}

/** What an OpenAI-compatible server replies; the answer has characters of one to four bytes. */
const answer = 'Answer é€😀.';
const whole = JSON.stringify({
  id: 'own',
  object: 'chat.completion',
  model: 'own',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: `<think>Hm.</think>${answer}` },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
});
const part = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ id: 'own', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const stream = [
  part({ role: 'assistant', content: '<thi' }),
  part({ content: 'nk>Hm.</think>' }),
  part({ content: answer }),
  part({}, 'stop'),
  `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}\n\n`,
  'data: [DONE]\n\n',
];
const usage = {
  prompt_tokens: 3,
  completion_tokens: 4,
  total_tokens: 7,
  prompt_tokens_details: { cached_tokens: 0 },
};

/** The two bodies in pieces of seven bytes, so that characters, events and tags are cut. */
const cut = (text: string): Buffer[] => {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / 7) }, (_, at) => bytes.subarray(at * 7, at * 7 + 7));
};

/** The ways in which handlers write, for a body of either kind. */
const ways: [string, (response: ExpressResponse, type: string, text: string) => unknown][] = [
  ['send', (response, type, text) => response.type(type).send(text)],
  ['end with a string', (response, type, text) => response.setHeader('content-type', type).end(text)],
  [
    'end with bytes',
    (response, type, text) => response.setHeader('content-type', type).end(Buffer.from(text)),
  ],
  [
    'end with an encoding and a callback',
    (response, type, text) =>
      response.type(type).end(Buffer.from(text).toString('base64'), 'base64', () => {}),
  ],
  [
    'write and end',
    (response, type, text) => {
      response.type(type);
      for (const piece of cut(text)) response.write(piece);
      response.end();
    },
  ],
  [
    'write with callbacks, one after the other',
    async (response, type, text) => {
      response.type(type);
      for (const piece of cut(text)) await new Promise(done => response.write(piece, done));
      await new Promise<void>(done => response.end(done));
    },
  ],
  [
    'writeHead with an object',
    (response, type, text) =>
      response.writeHead(200, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) }).end(text),
  ],
  [
    'writeHead with a reason and an object',
    (response, type, text) => response.writeHead(200, 'Fine', { 'content-type': type }).end(text),
  ],
  [
    'writeHead with a list',
    (response, type, text) =>
      response.writeHead(200, ['content-type', type, 'set-cookie', 'a=1', 'set-cookie', 'b=2']).end(text),
  ],
  [
    'writeHead with a list of pairs',
    (response, type, text) =>
      response.writeHead(200, [['content-type', type]] as unknown as string[]).end(text),
  ],
  [
    'flushHeaders first',
    async (response, type, text) => {
      response.type(type).flushHeaders();
      await new Promise(done => setTimeout(done, 20));
      response.end(text);
    },
  ],
  ['pipe', (response, type, text) => Readable.from(cut(text)).pipe(response.type(type))],
  [
    'pipeline',
    async (response, type, text) => {
      await pipeline(Readable.from(cut(text)), response.type(type));
    },
  ],
  [
    'pipeline from a generator',
    async (response, type, text) => {
      await pipeline(async function* () {
        yield* cut(text);
      }, response.type(type));
    },
  ],
];

describe('a handler that replies with JSON', () => {
  it.each([...ways, ['json', (response: ExpressResponse) => response.json(JSON.parse(whole))] as const])(
    'by %s',
    async (_, write) => {
      const chat = await chatOf((_request, response) => write(response, 'application/json', whole));
      const reply = await post(chat, ask('Hello?'));
      expect(reply.status).toBe(200);
      expect(reply.statusText).toBe('OK');
      expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(await reply.json()).toEqual({
        id: expect.stringMatching(/^chatcmpl-/),
        object: 'chat.completion',
        created: expect.any(Number),
        model: 'aion-labs/aion-3.5',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: answer, reasoning: 'Hm.' },
            finish_reason: 'stop',
          },
        ],
        usage,
      });
    },
  );
});

describe('a handler that streams', () => {
  it.each(ways)('by %s', async (_, write) => {
    const chat = await chatOf((_request, response) => write(response, 'text/event-stream', stream.join('')));
    const reply = await post(chat, ask('Hello?', { stream: true }));
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(reply.headers.get('content-length')).toBeNull();
    const events = eventsOf(await reply.text());
    expect(events.at(-1)?.data).toBe('[DONE]');
    const deltas = events
      .slice(0, -1)
      .map(({ json }) => [json.choices?.[0]?.delta, json.choices?.[0]?.finish_reason]);
    expect(deltas).toEqual([
      [{ role: 'assistant', content: '' }, null],
      [{ reasoning: 'Hm.' }, null],
      [{ content: answer }, null],
      [{}, 'stop'],
    ]);
    expect(events.map(({ json }) => json.usage)).toEqual([undefined, undefined, undefined, usage, undefined]);
  });
});

describe('what a handler sees', () => {
  it('is a response that has begun when it has, though the client has nothing yet', async () => {
    const seen: unknown[] = [];
    const chat = await chatOf(async (_request, response) => {
      seen.push(response.headersSent);
      response.type('application/json').write(whole.slice(0, 20));
      seen.push(response.headersSent);
      // As Express's own error handling and proxies do: a second head changes nothing.
      if (!response.headersSent) response.status(500);
      response.writeHead(500, { 'content-type': 'text/html', 'x-late': 'yes' });
      response.end(whole.slice(20));
    });
    const reply = await post(chat, ask('Hello?'));
    expect(seen).toEqual([false, true]);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('x-late')).toBeNull();
  });

  it('is told when to wait, and when to go on', async () => {
    const seen: unknown[] = [];
    const large = JSON.stringify({ ...JSON.parse(whole), padding: 'x'.repeat(600_000) });
    const chat = await chatOf(async (_request, response) => {
      response.type('application/json');
      seen.push(response.write(large.slice(0, 500_000)), response.writableNeedDrain);
      await once(response, 'drain');
      seen.push(response.writableNeedDrain, response.write(large.slice(500_000, 500_100)));
      response.end(large.slice(500_100));
    });
    expect(await (await post(chat, ask('Hello?'))).json()).toMatchObject({ object: 'chat.completion' });
    expect(seen).toEqual([false, true, false, true]);
  });

  it('are its callbacks and events', async () => {
    const seen: string[] = [];
    const chat = await chatOf((_request, response) => {
      response.once('finish', () => seen.push('finish'));
      response.once('close', () => seen.push('close'));
      response.type('application/json').write(whole, 'utf8', () => seen.push('written'));
      response.end(() => seen.push('ended'));
    });
    await (await post(chat, ask('Hello?'))).text();
    await new Promise(resolve => setTimeout(resolve, 50));
    expect(seen[0]).toBe('written');
    expect(seen.slice(1, 3).sort()).toEqual(['ended', 'finish']);
    expect(seen.slice(3)).toEqual(['close']);
  });
});

describe("the reply's headers", () => {
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
    'of %s are its own and the parent’s, without what spoke of other bytes and another hop',
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

  it('have the status text of the status that is sent, not of the one that the handler had', async () => {
    const chat = await chatOf((_request, response) => {
      response.statusMessage = 'Very Own Words';
      response.status(503).setHeader('retry-after', 'whenever').end('busy');
    });
    const reply = await post(chat, ask('Hello?'));
    expect([reply.status, reply.statusText]).toEqual([502, 'Bad Gateway']);
    expect(reply.headers.get('retry-after')).toBeNull();
  });
});

describe('through the application’s own proxy', () => {
  it.each(['field', 'tags', 'reasoning_content'] as const)(
    'reasoning as %s comes back split',
    async reasoning => {
      const simulator = await simulate({ reasoning });
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

  it('a reply that the proxy itself rewrites comes back through the stages', async () => {
    const simulator = await simulate();
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

  it('running usage is on every chunk of a client that asked for it', async () => {
    const simulator = await simulate();
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

  it('uses its connection to the upstream again after a stream whose end comes after [DONE]', async () => {
    const upstream = await startScriptedUpstream(
      pieces(
        [streamHead(), scripted(stream.slice(0, -1).join('')), scripted('data: [DONE]\n\n'), lastChunk],
        30,
      ),
    );
    closing.push(upstream);
    const app = await startApp(app => app.use(chainOf(), proxyTo(upstream)));
    for (let count = 0; count < 3; count++) {
      const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?', { stream: true }));
      expect(eventsOf(await reply.text()).at(-1)?.data).toBe('[DONE]');
    }
    expect(upstream.requests.map(({ connection }) => connection)).toEqual([0, 0, 0]);
  });

  it('ends a stream to the client though the upstream does not end it after [DONE]', async () => {
    const upstream = await startScriptedUpstream(pieces([streamHead(), scripted(stream.join(''))]));
    closing.push(upstream);
    const app = await startApp(app => app.use(chainOf(), proxyTo(upstream)));
    const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?', { stream: true }));
    expect(eventsOf(await reply.text()).at(-1)?.data).toBe('[DONE]');
    // Not cut in the middle of a reply by us: the proxy gives up what its client no longer waits for.
    expect(await upstream.last.closed).toBe('gateway');
  });
});

describe('a handler that compresses although it was asked not to', () => {
  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ] as const)('with %s is understood, streamed or not', async (encoding, compress) => {
    const chat = await chatOf((request, response) => {
      const streaming = request.headers.accept === 'text/event-stream';
      response.setHeader('content-encoding', encoding);
      response.type(streaming ? 'text/event-stream' : 'application/json');
      response.end(compress(streaming ? stream.join('') : whole));
    });
    const reply = await post(chat, ask('Hello?'));
    expect(reply.headers.get('content-encoding')).toBeNull();
    expect(await reply.json()).toMatchObject({ choices: [{ message: { content: answer } }], usage });
    const streamed = await post(chat, ask('Hello?', { stream: true }), { accept: 'text/event-stream' });
    expect(await streamed.text()).toContain(`"content":"${answer}"`);
  });

  it('in a way that nobody understands is an invalid response, as is one that was cut', async () => {
    const replies = [
      (response: ExpressResponse) => response.setHeader('content-encoding', 'own').end(whole),
      (response: ExpressResponse) =>
        response.setHeader('content-encoding', 'gzip').end(gzipSync(whole).subarray(0, 40)),
    ];
    const chat = await chatOf((_request, response) => void replies.shift()?.(response));
    for (let count = 0; count < 2; count++) {
      const reply = await post(chat, ask('Hello?'));
      expect([reply.status, await reply.json()]).toMatchObject([502, { error: { type: 'provider_error' } }]);
    }
  });
});

describe('under compression()', () => {
  it('a stream arrives as it is made, not at its end', async () => {
    const simulator = await simulate();
    const app = await startApp(app => app.use(compression(), chainOf(), proxyTo(simulator)));
    const question = 'Hello? [[sim:tokens=6 reasoning_tokens=2 tps=10]]';
    const reply = await post(`${app.url}/v1/chat/completions`, ask(question, { stream: true }), {
      'accept-encoding': 'gzip, br',
    });
    expect(reply.headers.get('content-encoding')).toBeNull();
    const arrivals: number[] = [];
    for await (const _ of reply.body!) arrivals.push(performance.now());
    // Eight tokens, a tenth of a second between any two.
    expect(arrivals.at(-1)! - arrivals[0]!).toBeGreaterThan(350);
    expect(arrivals.length).toBeGreaterThanOrEqual(6);
  });

  it('a large JSON reply is compressed for a client that accepts it, though the handler was asked not to', async () => {
    const simulator = await simulate();
    const app = await startApp(app => app.use(compression(), chainOf(), proxyTo(simulator)));
    const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello? [[sim:tokens=2000]]'), {
      'accept-encoding': 'gzip',
    });
    expect(simulator.requests.at(-1)?.headers['accept-encoding']).toBe('identity');
    expect(reply.headers.get('content-encoding')).toBe('gzip');
    expect(await reply.json()).toMatchObject({ usage: { completion_tokens: expect.any(Number) } });
    const plain = await send(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(ask('Hello? [[sim:tokens=2000]]')),
    });
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(JSON.parse(plain.text)).toMatchObject({ object: 'chat.completion' });
  });

  it('a reply of megabytes goes through it whole', async () => {
    const content = 'word '.repeat(400_000);
    const body = JSON.parse(whole);
    body.choices[0].message.content = content;
    const app = await startApp(app =>
      app.use(compression(), chainOf(allStages()), (_request, response) => void response.json(body)),
    );
    const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?'), { 'accept-encoding': 'gzip' });
    expect(reply.headers.get('content-encoding')).toBe('gzip');
    expect(await reply.json()).toMatchObject({ choices: [{ message: { content } }] });
  });
});
