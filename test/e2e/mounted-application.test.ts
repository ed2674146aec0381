import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import express, { type RequestHandler } from 'express';
import { Registry } from 'prom-client';
import request from 'supertest';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { post } from '../support/chain-app.ts';
import { requestOf } from '../support/chain-connection.ts';
import { type RunningApp, startApp } from '../support/express-app.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { closeMounted, mountable, mounted } from '../support/mounted-gateway.ts';
import { RawConnection, send } from '../support/raw-client.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;

beforeEach(async () => {
  simulator = await startSimulator();
});

afterEach(async () => {
  await closeMounted();
  await simulator.close();
});

const chat = '/v1/chat/completions';

/** POSTs JSON with the key to a path of an application. */
const posted = ({ server }: RunningApp, path: string, body: object) =>
  request(server).post(path).set('authorization', `Bearer ${clientKey}`).send(body);

describe('a gateway mounted in an application', () => {
  it('leaves every other path to the parent, even below /v1, with its body unread', async () => {
    const gateway = await mountable(simulator);
    const app = await startApp(app => {
      app.get('/before', (_request, response) => void response.send('before'));
      app.use(gateway);
      app.post('/v1/embeddings', async (request, response) => {
        let length = 0;
        for await (const part of request) length += part.length;
        response.send(`embedded ${length}`);
      });
      app.get('/after', (_request, response) => void response.send('after'));
    });
    await request(app.server).get('/before').expect(200, 'before');
    await request(app.server).get('/after').expect(200, 'after');
    const body = 'x'.repeat(300_000);
    await request(app.server).post('/v1/embeddings').type('text').send(body).expect(200, 'embedded 300000');
    for (const path of ['/v1/unknown', '/v1', '/', '/v1/modelsx', '/x/v1/models', '/v1/chat/completions/x']) {
      const reply = await request(app.server).get(path);
      expect([path, reply.status, reply.text.includes(`Cannot GET ${path}`)]).toEqual([path, 404, true]);
      // Express's own page and headers, nothing of ours.
      expect(reply.headers).not.toHaveProperty('x-request-id');
    }
    expect(gateway.inFlight).toBe(0);
    expect(await gateway.registry.metrics()).not.toMatch(/sluice_requests_total\{.* [1-9]/);
  });

  it.each([
    ['/llm', '/llm/v1'],
    ['/v1', '/v1'],
    ['/llm/v1', '/llm/v1'],
  ])('works when mounted at %s, and only there', async (path, base) => {
    const gateway = await mountable(simulator);
    const app = await startApp(app => app.use(path, gateway));
    await request(app.server).get(`${base}/models`).expect(200);
    if (base !== '/v1') await request(app.server).get('/v1/models').expect(404);
    const reply = await posted(app, `${base}/chat/completions`, ask('Hello?', { stream: true }));
    expect(eventsOf(reply.text).at(-1)?.data).toBe('[DONE]');
    await request(app.server)
      .get(`${base}/unknown`)
      .expect(404, new RegExp(`Cannot GET ${base}/unknown`));
  });

  it('leaves x-powered-by to the parent', async () => {
    const withIt = await mounted(simulator);
    await request(withIt.server).get('/v1/models').expect('x-powered-by', 'Express');
    const without = await mounted(simulator, app => app.disable('x-powered-by'));
    for (const { headers } of [
      await request(without.server).get('/v1/models'),
      await request(without.server).post(chat).send({}),
    ])
      expect(headers).not.toHaveProperty('x-powered-by');
  });

  it('keeps the headers that the parent has set on replies, streams and errors', async () => {
    const app = await mounted(simulator, app =>
      app.use((_request, response, next) => {
        response.setHeader('access-control-allow-origin', 'https://app.example');
        response.append('set-cookie', 'session=1');
        next();
      }),
    );
    const replies = [
      await request(app.server).get('/v1/models'),
      await posted(app, chat, ask('Hello?')),
      await posted(app, chat, ask('Hello?', { stream: true })),
      await posted(app, chat, ask('Hello?', { n: 99 })),
    ];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 400]);
    for (const { headers } of replies) {
      expect(headers['access-control-allow-origin']).toBe('https://app.example');
      expect(headers['set-cookie']).toEqual(['session=1']);
    }
  });

  it('runs beside a second one, with separate or shared metrics', async () => {
    const other = await startSimulator();
    const shared = new Registry();
    const first = await mountable(simulator);
    const second = await mountable(other);
    const [third, fourth] = [
      await mountable(simulator, {}, { registry: shared }),
      await mountable(other, {}, { registry: shared }),
    ];
    const app = await startApp(app => {
      app.use('/first', first).use('/second', second).use('/third', third).use('/fourth', fourth);
    });
    for (const name of ['first', 'second', 'second', 'third', 'fourth']) {
      await posted(app, `/${name}${chat}`, ask('Hello?')).expect(200);
    }
    await other.close();
    expect([simulator.stats.requests, other.stats.requests]).toEqual([2, 3]);
    const counted = async (registry: Registry) =>
      /^sluice_requests_total\{.*\} (\d+)$/m.exec(await registry.metrics())?.[1];
    expect(await counted(first.registry)).toBe('1');
    expect(await counted(second.registry)).toBe('2');
    expect(await counted(shared)).toBe('2');
  });
});

describe('a parent that answers the request itself', () => {
  it('keeps the gateway from calling the upstream when it answers first', async () => {
    const { chat, errors, gateway } = await mounted(simulator, app =>
      app.use((_request, response, next) => {
        response.status(503).send('closed for today');
        next();
      }),
    );
    for (const more of [{}, { stream: true }]) {
      const reply = await post(chat, ask('Hello?', more));
      expect([reply.status, await reply.text()]).toEqual([503, 'closed for today']);
    }
    expect((await send(chat.replace('chat/completions', 'models'))).text).toBe('closed for today');
    await until(() => gateway.inFlight === 0);
    expect(simulator.requests).toEqual([]);
    expect(errors).toEqual([]);
  });

  it.each([
    ['a stream', { stream: true }, 'aborted'],
    ['a reply', {}, 'completed'],
  ] as const)('keeps its answer when it answers while %s is being generated', async (_, more, end) => {
    const { chat, gateway, errors } = await mounted(simulator, app =>
      app.use((_request, response, next) => {
        next();
        void until(() => simulator.stats.open === 1).then(() => response.status(503).end('out of time'));
      }),
    );
    const reply = await post(chat, ask('[[sim:ttft=400 tokens=3 reasoning_tokens=1]]', more));
    expect([reply.status, await reply.text()]).toEqual([503, 'out of time']);
    await until(() => gateway.inFlight === 0);
    await until(() => simulator.stats[end] === 1);
    expect(errors).toEqual([]);
    // The process is still there, and so is the gateway.
    expect((await send(chat.replace('chat/completions', 'models'))).status).toBe(200);
  });

  it('stops the gateway’s writes when it answers in the middle of a stream', async () => {
    const { chat, gateway } = await mounted(simulator, app =>
      app.use((_request, response, next) => {
        next();
        void until(() => response.headersSent).then(() => response.end('data: cut by the parent\n\n'));
      }),
    );
    const reply = await post(chat, ask('[[sim:tokens=endless tps=50]]', { stream: true }));
    expect(await reply.text()).toMatch(/data: cut by the parent\n\n$/);
    await until(() => gateway.inFlight === 0);
    await until(() => simulator.stats.aborted === 1);
  });
});

describe('a parent that ends a stream which its client does not read', () => {
  it('survives the chunks that are still written', async () => {
    let ended: Promise<void> | undefined;
    const { url, chat, gateway } = await mounted(simulator, app =>
      app.use((_request, response, next) => {
        next();
        // More than the buffers on the way take, so that the response stays open for a while after its end.
        ended = until(() => response.headersSent).then(() => void response.end(Buffer.alloc(50_000_000)));
      }),
    );
    const connection = new RawConnection(url);
    connection.socket.pause();
    connection.write(requestOf(ask('[[sim:tokens=endless tps=50]]', { stream: true })));
    await until(() => ended !== undefined);
    await ended;
    // Four more chunks.
    await sleep(80);
    connection.socket.resume();
    await until(() => gateway.inFlight === 0);
    connection.destroy();
    expect((await send(chat.replace('chat/completions', 'models'))).status).toBe(200);
  });
});

describe('a client that leaves before the gateway has its turn', () => {
  it.each([
    ['before', (): RequestHandler => (_request, _response, next) => next()],
    ['after', () => express.json()],
  ])('is noticed, %s the body was read', async (_, parser) => {
    const { url, gateway } = await mounted(simulator, app =>
      // As one that looks up a session.
      app.use(parser(), (_request, response, next) => {
        response.once('close', () => next());
        connection.destroy();
      }),
    );
    const connection = new RawConnection(url);
    connection.write(requestOf(ask('[[sim:tokens=endless tps=50]]', { stream: true })));
    const left = async () =>
      (await gateway.registry.metrics()).includes('end_reason="client_gone"') && gateway.inFlight === 0;
    await until(left);
    expect(simulator.stats.open).toBe(0);
  });
});

describe('closing a mounted gateway', () => {
  it('lets running exchanges finish and refuses new ones while the parent keeps serving', async () => {
    const { url, chat, gateway } = await mounted(simulator, app =>
      app.get('/own', (_request, response) => void response.send('own')),
    );
    const running = await post(chat, ask('[[sim:tokens=10 reasoning_tokens=1 tps=20]]', { stream: true }));
    const closed = gateway.close(10_000);
    expect(gateway.ready).toBe(false);
    const refused = await post(chat, ask('Hello?'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([502, '1']);
    expect(await refused.json()).toMatchObject({ error: { type: 'server_error' } });
    expect((await send(`${url}/own`)).text).toBe('own');
    const events = eventsOf(await running.text());
    expect(events.at(-2)?.json.choices?.[0]?.finish_reason).toBe('stop');
    await closed;
    expect(gateway.inFlight).toBe(0);
    expect((await send(`${url}/own`)).text).toBe('own');
  });
});
