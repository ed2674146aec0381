import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type HttpBindings, serve } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import type { Gateway } from '../../src/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { post } from '../support/chain-app.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { expectRefusal } from '../support/hostile-setting.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';

let simulator: Simulator;
let closeHost: () => unknown = () => {};

beforeEach(async () => {
  simulator = await startSimulator();
});

afterEach(async () => {
  await closeHost();
  await closeMounted();
  await simulator.close();
});

async function urlOf(server: Server): Promise<string> {
  if (!server.listening) await once(server, 'listening');
  closeHost = () => server.close();
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Applications that have read the body before they hand the request over, and say so in `body` of Node's request. */
const hosts: Record<string, (gateway: Gateway) => Promise<string>> = {
  async Fastify(gateway) {
    const app = Fastify({ bodyLimit: 20_000_000 });
    app.all('/v1/*', (request, reply) => {
      reply.hijack();
      gateway(Object.assign(request.raw, { body: request.body }), reply.raw);
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    return urlOf(app.server);
  },
  Koa(gateway) {
    const app = new Koa();
    app.use(async ctx => {
      const parts: Buffer[] = [];
      for await (const part of ctx.req) parts.push(part);
      ctx.respond = false;
      gateway(Object.assign(ctx.req, { body: JSON.parse(Buffer.concat(parts).toString()) }), ctx.res);
    });
    return urlOf(app.listen(0, '127.0.0.1'));
  },
  Hono(gateway) {
    const app = new Hono<{ Bindings: HttpBindings }>();
    app.all('/v1/*', async c => {
      const { incoming, outgoing } = c.env;
      gateway(Object.assign(incoming, { body: await c.req.json() }), outgoing);
      return RESPONSE_ALREADY_SENT;
    });
    return urlOf(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server);
  },
};

describe.each(Object.entries(hosts))('a gateway in %s, behind its body parser', (_, start) => {
  it('takes the body as it is', async () => {
    const chat = `${await start(await mountable(simulator))}/v1/chat/completions`;
    const reply = await post(chat, ask('What is é€😀? [[sim:say=Signs.]]'));
    expect(await reply.json()).toMatchObject({ choices: [{ message: { content: 'Signs.' } }] });
    const streamed = await post(chat, ask('[[sim:say=Signs.]]', { stream: true }));
    expect(await streamed.text()).toContain('[DONE]');
    await expectRefusal(await post(chat, ask('?', { n: 'many' })), 400, 'invalid_request_error');
  });
});

it('answers requests that Fastify injects without a connection, at once', async () => {
  const gateway = await mountable({ url: 'http://127.0.0.1:1/v1' });
  const app = Fastify();
  app.all('/v1/*', (request, reply) => {
    reply.hijack();
    gateway(Object.assign(request.raw, { body: request.body }), reply.raw);
  });
  const started_ms = performance.now();
  const models = await app.inject({ url: '/v1/models' });
  expect([models.statusCode, models.json().object]).toEqual([200, 'list']);
  const headers = { authorization: `Bearer ${clientKey}` };
  const chat = { method: 'POST', url: '/v1/chat/completions' } as const;
  const unreachable = await app.inject({ ...chat, headers, payload: ask('Hello?') });
  expect([unreachable.statusCode, unreachable.json().error.type]).toEqual([502, 'provider_error']);
  expect((await app.inject({ ...chat, payload: ask('Hello?') })).statusCode).toBe(401);
  expect(performance.now() - started_ms).toBeLessThan(20_000);
});
