import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import compression from 'compression';
import type { Response as ExpressResponse } from 'express';
import { startSimulator } from '../../src/simulator/server.ts';
import { allStages, chainOf, post, proxyTo } from '../support/chain-app.ts';
import { alongside, closeApps, startApp } from '../support/express-app.ts';
import { answer, chatOf, stream, usage, whole } from '../support/foreign-replies.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { send } from '../support/raw-client.ts';

afterEach(closeApps);

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

describe('the compression() middleware around a chain', () => {
  it('delivers a stream chunk by chunk', async () => {
    const simulator = alongside(await startSimulator());
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

  it('compresses a large JSON reply for a client that accepts it', async () => {
    const simulator = alongside(await startSimulator());
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

  it('delivers a compressed reply of megabytes whole', async () => {
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
