import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Response as ExpressResponse } from 'express';
import { chainOf, post, proxyTo } from '../support/chain-app.ts';
import { alongside, closeApps, startApp } from '../support/express-app.ts';
import { answer, chatOf, stream, usage, whole } from '../support/foreign-replies.ts';
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

/** The two bodies in pieces of seven bytes, so that characters, events and tags are cut. */
const cut = (text: string): Buffer[] => {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / 7) }, (_, at) => bytes.subarray(at * 7, at * 7 + 7));
};

/** The ways in which handlers write, for a body of either kind. */
const ways: [string, (response: ExpressResponse, type: string, text: string) => unknown][] = [
  ['send', (response, type, text) => response.type(type).send(text)],
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
  [
    'pipeline from a generator',
    async (response, type, text) => {
      await pipeline(async function* () {
        yield* cut(text);
      }, response.type(type));
    },
  ],
];

describe('a reply of a handler', () => {
  it.each([...ways, ['json', (response: ExpressResponse) => response.json(JSON.parse(whole))] as const])(
    'is transformed when its body is written by %s',
    async (_, write) => {
      const chat = await chatOf((_request, response) => write(response, 'application/json', whole));
      const reply = await post(chat, ask('Hello?'));
      expect([reply.status, reply.statusText]).toEqual([200, 'OK']);
      expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
      const message = { role: 'assistant', content: answer, reasoning: 'Hm.' };
      expect(await reply.json()).toEqual({
        id: expect.stringMatching(/^chatcmpl-/),
        object: 'chat.completion',
        created: expect.any(Number),
        model: 'aion-labs/aion-3.5',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage,
      });
    },
  );

  it.each(ways)('is transformed when its events are written by %s', async (_, write) => {
    const chat = await chatOf((_request, response) => write(response, 'text/event-stream', stream.join('')));
    const reply = await post(chat, ask('Hello?', { stream: true }));
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(reply.headers.get('content-length')).toBeNull();
    const events = eventsOf(await reply.text());
    expect(events.at(-1)?.data).toBe('[DONE]');
    const seen = events.slice(0, -1).map(({ json: { choices, usage } }) => [choices?.[0]?.delta, usage]);
    expect(seen).toEqual([
      [{ role: 'assistant', content: '' }, undefined],
      [{ reasoning: 'Hm.' }, undefined],
      [{ content: answer }, undefined],
      [{}, usage],
    ]);
    expect(events.at(-2)?.json.choices?.[0]?.finish_reason).toBe('stop');
  });
});

describe('the response object that a handler sees', () => {
  it('has headersSent set after the first write, though the client has received nothing yet', async () => {
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

  it('reports backpressure and emits drain', async () => {
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

  it('calls the write callbacks and emits finish and close', async () => {
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

  it('lack one of the parent that the handler has removed', async () => {
    const chat = await chatOf(
      (_request, response) => {
        response.removeHeader('x-of-the-parent');
        response.json(JSON.parse(whole));
      },
      app =>
        app.use((_request, response, next) => {
          response.setHeader('x-of-the-parent', 'not kept');
          next();
        }),
    );
    const reply = await post(chat, ask('Hello?'));
    expect([reply.status, reply.headers.get('x-of-the-parent')]).toEqual([200, null]);
  });

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
});

type Options = NonNullable<Parameters<typeof chainOf>[1]>['chat_completions'];

/** What a client gets of a handler whose text has `<think>` tags, through chains one behind the other. */
async function messagesThrough(...chains: readonly Options[]): Promise<object[]> {
  const app = await startApp(app => {
    for (const chat_completions of chains)
      app.use(chainOf(undefined, chat_completions ? { chat_completions } : {}));
    app.use((request, response) => {
      const streaming = String(request.headers.accept).includes('event-stream');
      response.setHeader('content-type', streaming ? 'text/event-stream' : 'application/json');
      response.end(streaming ? stream.join('') : whole);
    });
  });
  const url = `${app.url}/v1/chat/completions`;
  const reply = await post(url, ask('Hello?'));
  const { choices } = (await reply.json()) as { choices: { message: object }[] };
  const streamed = await post(url, ask('Hello?', { stream: true }), { accept: 'text/event-stream' });
  const joined: Record<string, string> = {};
  for (const { json } of eventsOf(await streamed.text()))
    for (const [key, text] of Object.entries(json.choices?.[0]?.delta ?? {}))
      joined[key] = (joined[key] ?? '') + text;
  return [choices[0]!.message, joined];
}

describe('the reasoning field of a reply through a chain', () => {
  it.each([
    ['is reasoning by default', [undefined], { reasoning: 'Hm.' }],
    [
      'follows the reasoning_key option',
      [{ reasoning_key: 'reasoning_content' }],
      { reasoning_content: 'Hm.' },
    ],
    [
      'follows the reasoning_key of the first chain, not of a later one',
      [{ reasoning_key: 'reasoning_content' }, { reasoning_key: 'both' }],
      { reasoning_content: 'Hm.' },
    ],
  ] as const)('%s', async (_, chains, named) => {
    const message = { role: 'assistant', content: answer, ...named };
    expect(await messagesThrough(...chains)).toEqual([message, message]);
  });
});

describe('a handler that compresses although the request asked for identity', () => {
  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ] as const)('is decoded when it uses %s, streamed or not', async (encoding, compress) => {
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

  it('causes a 502 when its encoding is unknown or its body truncated', async () => {
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

describe('the accept-encoding header after the exchange', () => {
  it.each([{}, { 'accept-encoding': 'br' }])('is what the client sent: %j', async accepted => {
    const found: object[] = [];
    const app = await startApp(app =>
      app.use(
        ({ headers }, response, next) => {
          const encodings = () =>
            'accept-encoding' in headers ? { 'accept-encoding': headers['accept-encoding'] } : {};
          response.once('finish', () => found.push(encodings()));
          next();
        },
        chainOf(),
        (_request, response) => void response.type('json').end(whole),
      ),
    );
    await send(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json', ...accepted },
      body: JSON.stringify(ask('Hello?')),
    });
    expect(found).toStrictEqual([accepted]);
  });
});
