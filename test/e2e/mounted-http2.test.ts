import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ClientHttp2Session, connect, constants, createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Gateway } from '../../src/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let gateway: Gateway;
let server: Http2Server;
let client: ClientHttp2Session;

beforeEach(async () => {
  simulator = await startSimulator();
  gateway = await mountable(simulator);
  // As Fastify and Hono do with `http2`.
  server = createServer((request, response) =>
    gateway(request as unknown as IncomingMessage, response as unknown as ServerResponse),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

afterEach(async () => {
  client.destroy();
  server.close();
  await closeMounted();
  await simulator.close();
});

function open(path: string, body?: unknown, key = clientKey) {
  const method = body === undefined ? 'GET' : 'POST';
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const stream = client.request({ ':path': path, ':method': method, ...headers });
  // That it is cut is what some tests are about.
  stream.on('error', () => {});
  if (body === undefined) return stream.end();
  return stream.end(typeof body === 'string' ? body : JSON.stringify(body));
}

async function call(path: string, body?: unknown, key?: string) {
  const stream = open(path, body, key);
  const [headers] = await once(stream, 'response');
  let text = '';
  for await (const part of stream.setEncoding('utf8')) text += part;
  return { status: headers[':status'], text };
}

const chat = '/v1/chat/completions';

it('answers whole and streamed requests, and errors, without waiting for bodies', async () => {
  expect(await call('/v1/models')).toMatchObject({ status: 200 });
  expect((await call(chat, ask('[[sim:say=Signs.]]'))).text).toContain('"content":"Signs."');
  const { text } = await call(chat, ask('[[sim:say=Signs.]]', { stream: true }));
  expect(eventsOf(text).at(-1)?.data).toBe('[DONE]');
  const unauthorized = await call(chat, ask('?'), 'nobody');
  expect(unauthorized).toMatchObject({ status: 401, text: expect.stringContaining('authentication_error') });
  const tooLarge = await call(chat, 'x'.repeat(17_000_000));
  expect(tooLarge).toMatchObject({ status: 413, text: expect.stringContaining('invalid_request_error') });
  await until(() => gateway.inFlight === 0);
});

it('aborts the upstream when the client cancels the stream', async () => {
  const stream = open(chat, ask('[[sim:tokens=endless tps=50]]', { stream: true }));
  await once(stream, 'data');
  stream.close(constants.NGHTTP2_CANCEL);
  await until(() => simulator.stats.aborted === 1 && gateway.inFlight === 0);
});
