import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import express, { type Express } from 'express';
import { defaultModels } from '../../src/config/example-models.ts';
import { auth, requestRewrite, validation } from '../../src/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { allStages, chainOf, post, proxyTo } from '../support/chain-app.ts';
import { connected, proxied as proxiedTo, requestOf } from '../support/chain-connection.ts';
import { closeApps, type RunningApp, startApp } from '../support/express-app.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;

/** The chain in front of the application's own proxy; `before` is what the application has had there all along. */
async function proxied(
  before: (app: Express) => unknown = () => {},
  chain = chainOf(),
): Promise<RunningApp & { chat: string }> {
  const app = await startApp(app => {
    before(app);
    app.use(chain, proxyTo(simulator));
  });
  return { ...app, chat: `${app.url}/v1/chat/completions` };
}

const received = () => JSON.parse(simulator.requests.at(-1)?.text ?? 'null');

beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(closeApps);
afterAll(() => simulator.close());

describe('a proxy behind the chain', () => {
  it('receives the body as the stages changed it, with the matching content-length', async () => {
    const { chat } = await proxied();
    const request = ask('Hello?', { temperature: 1, top_k: 3, metadata: { a: 'b' }, reasoning_split: true });
    expect((await post(chat, request)).status).toBe(200);
    expect(received()).toEqual({
      model: 'aion-labs/aion-3.5',
      messages: [{ role: 'user', content: 'Hello?' }],
      temperature: 1,
      // The catalog's default, said explicitly; what the interface does not forward is not there.
      reasoning_effort: 'high',
    });
    const { headers, text } = simulator.requests.at(-1)!;
    expect(headers['content-length']).toBe(String(Buffer.byteLength(text)));
    expect(headers['transfer-encoding']).toBeUndefined();
  });

  it('asks for usage on a streamed reply, for metering', async () => {
    const { chat } = await proxied();
    await (await post(chat, ask('Hello?', { stream: true }))).text();
    expect(received()).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });

  it('receives plain JSON for a compressed, chunked body', async () => {
    const { chat } = await proxied();
    const bytes = gzipSync(JSON.stringify(ask('Compressed? é€😀')));
    const reply = await fetch(chat, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${clientKey}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      // Without a known length it is sent in chunks.
      body: new Blob([bytes]).stream(),
      duplex: 'half',
    } as RequestInit);
    expect(reply.status).toBe(200);
    expect(received().messages).toEqual([{ role: 'user', content: 'Compressed? é€😀' }]);
    expect(simulator.requests.at(-1)?.headers).not.toHaveProperty('content-encoding');
  });

  it.each([
    ['express.json()', () => express.json()],
    ['express.json() with a larger limit', () => express.json({ limit: '10mb' })],
    ['express.text()', () => express.text({ type: '*/*' })],
    ['express.raw()', () => express.raw({ type: '*/*' })],
    ['two body parsers', () => [express.json(), express.urlencoded({ extended: true })]],
  ])('receives the body after %s has parsed it', async (_, parser) => {
    const { chat } = await proxied(app => app.use(parser()));
    const reply = await post(chat, ask('Parsed?'));
    expect(await reply.json()).toMatchObject({ object: 'chat.completion', model: 'aion-labs/aion-3.5' });
    expect(received()).toMatchObject({
      messages: [{ role: 'user', content: 'Parsed?' }],
      reasoning_effort: 'high',
    });
  });

  it('receives the body that the parent set in place of an unread one', async () => {
    const { chat } = await proxied(app =>
      app.use((request, _response, next) => {
        request.body = ask('Put in place.');
        next();
      }),
    );
    expect((await post(chat, ask('What the client sent. '.repeat(200_000)))).status).toBe(200);
    expect(received().messages).toEqual([{ role: 'user', content: 'Put in place.' }]);
  });

  it('is not called when a stage rejects the request', async () => {
    const { chat, errors } = await proxied();
    const before = simulator.requests.length;
    const reply = await post(chat, ask('Hello?', { reasoning_effort: 'medium' }));
    expect(reply.status).toBe(400);
    expect(await reply.json()).toEqual({
      error: { type: 'invalid_request_error', message: expect.stringContaining('low, high, max') },
    });
    expect(simulator.requests).toHaveLength(before);
    expect(errors).toEqual([]);
  });

  it('returns the upstream stream unchanged when no stage transforms the reply', async () => {
    const { chat } = await proxied(() => {}, chainOf([auth(), validation()]));
    const request = ask('Hello? [[sim:tokens=3 reasoning_tokens=2]]', { stream: true, top_k: 1 });
    const throughChain = await post(chat, request);
    expect(received()).not.toHaveProperty('stream_options');
    expect(throughChain.headers.get('x-ignored-parameters')).toBe('top_k');
    const direct = await post(`${simulator.url}/chat/completions`, received());
    const withoutIdentity = (text: string) => text.replaceAll(/"id":"[^"]*"|"created":\d+/g, '');
    expect(withoutIdentity(await throughChain.text())).toBe(withoutIdentity(await direct.text()));
  });

  it('receives the reasoning effort mapped for the model', async () => {
    const [model] = defaultModels('handler');
    const { upstreams: _, ...rest } = model!;
    const models = [{ ...rest, effort_map: { max: { thinking: { budget: 32000 } } } }];
    const { chat } = await proxied(() => {}, chainOf(allStages(), { models }));
    await post(chat, ask('Hello?', { reasoning_effort: 'max' }));
    expect(received()).toMatchObject({ thinking: { budget: 32000 } });
    expect(received()).not.toHaveProperty('reasoning_effort');
  });
});

describe('an application handler behind the chain', () => {
  const seenBy = async (
    parser: Parameters<typeof express.text>[0] | undefined,
    kind: 'json' | 'text' | 'raw',
  ) => {
    let seen: unknown;
    const app = await startApp(app => {
      app.use(express[kind](parser as object));
      app.use(chainOf([auth(), validation(), requestRewrite({ set: { top_p: 0.5 } })]));
      app.post('/v1/chat/completions', (request, response) => {
        seen = request.body;
        response.json({});
      });
    });
    expect((await post(`${app.url}/v1/chat/completions`, ask('Hello?'))).status).toBe(200);
    return seen;
  };
  const left = {
    model: 'aion-labs/aion-3.5',
    messages: [{ role: 'user', content: 'Hello?' }],
    reasoning_effort: 'high',
    top_p: 0.5,
  };

  it('finds the changed body in request.body, in the form that the parser used', async () => {
    expect(await seenBy(undefined, 'json')).toEqual(left);
    const text = await seenBy({ type: '*/*' }, 'text');
    expect(typeof text).toBe('string');
    expect(JSON.parse(text as string)).toEqual(left);
    const bytes = await seenBy({ type: '*/*' }, 'raw');
    expect(Buffer.isBuffer(bytes)).toBe(true);
    expect(JSON.parse(String(bytes))).toEqual(left);
  });

  it('may parse the body itself or read it as a stream', async () => {
    const seen: unknown[] = [];
    const app = await startApp(app => {
      const chain = chainOf([auth(), validation(), requestRewrite({ set: { top_p: 0.5 } })]);
      app.use('/parsed', chain, express.json(), (request, response) => {
        seen.push(request.body);
        response.json({});
      });
      app.use('/read', chain, async (request, response) => {
        const parts: Buffer[] = [];
        for await (const part of request) parts.push(part);
        seen.push(JSON.parse(Buffer.concat(parts).toString()));
        response.json({});
      });
    });
    await post(`${app.url}/parsed/v1/chat/completions`, ask('Hello?'));
    await post(`${app.url}/read/v1/chat/completions`, ask('Hello?'));
    expect(seen).toEqual([left, left]);
  });
});

describe('a client connection', () => {
  it('serves streams and whole replies one after the other, pipelined or not', async () => {
    const { app } = await proxiedTo(simulator);
    const connection = connected(app);
    const asking = (count: number) =>
      requestOf(ask(`[[sim:say=answer ${count}]]`, { stream: count % 2 === 1 }));
    for (let count = 1; count <= 4; count++) {
      connection.write(asking(count));
      await connection.received(
        count % 2 === 1 ? new RegExp(`${count}".*\\[DONE\\]\n\n\r\n0\r\n\r\n$`, 's') : /\}\}\}$/,
      );
    }
    // In one piece, as from a client that does not wait: the second must not be swallowed with the first.
    connection.write(asking(6) + asking(8));
    await connection.received(/answer 6.*answer 8/s);
    const heads = connection.text.match(/HTTP\/1\.1 200 OK\r\n.*?\r\n\r\n/gs) ?? [];
    expect(heads).toHaveLength(6);
    for (const [at, head] of heads.entries()) {
      expect(head).toMatch(/^connection: keep-alive$/im);
      if (at < 4 && at % 2 === 0) expect(head).toMatch(/^transfer-encoding: chunked$/im);
    }
  });

  it('stays usable after errors of every kind', async () => {
    const { app, outcomes } = await proxiedTo(simulator);
    const connection = connected(app);
    const failing = ['status=500', 'html', 'reset', 'reset=2', 'truncate=2'];
    for (const directive of failing) {
      for (const stream of [true, false]) {
        const already = connection.text.match(/provider_error/g)?.length ?? 0;
        connection.write(requestOf(ask(`[[sim:${directive}]]`, { stream })));
        await until(() => (connection.text.match(/provider_error/g)?.length ?? 0) === already + 1);
        await until(() => /(\}\}|\r\n0\r\n\r\n)$/.test(connection.text));
      }
    }
    connection.write(requestOf(ask('[[sim:say=In order.]]')));
    await connection.received(/In order\./);
    expect(outcomes).toHaveLength(failing.length * 2 + 1);
  });

  it('is closed after the reply when the client asked for that', async () => {
    const { app } = await proxiedTo(simulator);
    const connection = connected(app);
    connection.write(requestOf(ask('Hello?', { stream: true })).replace('\r\n', '\r\nconnection: close\r\n'));
    await connection.closed;
    expect(connection.text).toMatch(/\[DONE\]\n\n\r\n0\r\n\r\n$/);
  });
});

describe('a refusal sent while the request body is still arriving', () => {
  const large = `{"messages": "${'x'.repeat(3_000_000)}"}`;

  it('reaches the client and keeps the connection usable', async () => {
    const { app } = await proxiedTo(simulator);
    const connection = connected(app);
    connection.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${large.length}\r\n\r\n${large.slice(0, 1000)}`,
    );
    await connection.received(/HTTP\/1\.1 401 .*authentication_error/s);
    connection.write(large.slice(1000));
    connection.write(requestOf(ask('[[sim:say=In order.]]')));
    await connection.received(/HTTP\/1\.1 200 .*In order\./s);
  });
});
