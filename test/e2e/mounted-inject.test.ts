import { afterEach, expect, it } from '@jest/globals';
import Fastify from 'fastify';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';

afterEach(closeMounted);

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
