import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import tls from 'node:tls';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { RawConnection } from '../support/raw-client.ts';
import { selfSigned } from '../support/self-signed-certificate.ts';
import { until } from '../support/until.ts';

const trusted = tls.getCACertificates('default');
const errors = 'sluice_upstream_errors_total';

let server: Server;
let gateway: GatewayUnderTest;
/** For each request that has come, how many its connection had carried with it. */
let uses: number[];

afterEach(async () => {
  tls.setDefaultCACertificates(trusted);
  await gateway.close();
  server.closeAllConnections();
  server.close();
});

type Closing = (socket: Socket, nth: number) => boolean;

/** Answers a request, or closes its connection as `closing` likes, which then returns true. */
function upstreamOf(closing: Closing) {
  const counts = new WeakMap<Socket, number>();
  uses = [];
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { socket } = request;
    const nth = (counts.get(socket) ?? 0) + 1;
    counts.set(socket, nth);
    uses.push(nth);
    const isChat = request.url === '/v1/chat/completions';
    if (!isChat && closing(socket, nth)) return;
    let text = '';
    for await (const part of request) text += part;
    if (!isChat) return void response.end(text || 'nothing');
    if (closing(socket, nth)) return;
    const isStream = JSON.parse(text).stream === true;
    response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
    const choice = { index: 0, finish_reason: 'stop' };
    if (isStream)
      response.end(
        `data: ${JSON.stringify({ choices: [{ ...choice, delta: { content: 'Hi' } }] })}\n\ndata: [DONE]\n\n`,
      );
    else
      response.end(
        JSON.stringify({ choices: [{ ...choice, message: { role: 'assistant', content: 'Hi' } }] }),
      );
  };
}

async function start(closing: Closing, isTls = false): Promise<void> {
  const handler = upstreamOf(closing);
  const certificate = selfSigned(new Date('2049-01-01T00:00:00Z'));
  server = isTls ? createTlsServer(certificate, handler) : createServer(handler);
  if (isTls) tls.setDefaultCACertificates([...trusted, certificate.cert]);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const upstream = { url: `${isTls ? 'https' : 'http'}://127.0.0.1:${port}/v1` };
  const passthrough = [{ path: '/v1/embeddings', provider: 'upstream', methods: ['GET', 'POST'] as const }];
  gateway = await startGateway({
    upstream,
    provider: { breaker: { consecutive_failures: 1 } },
    config: { passthrough: passthrough as never },
  });
}

async function statusesOf(requests: number, stream: boolean, content = 'Hi'): Promise<number[]> {
  const statuses: number[] = [];
  for (let sent = 0; sent < requests; sent++) {
    const reply = await gateway.post(ask(content, { stream }));
    expect(await reply.text()).toContain(reply.status === 200 ? 'Hi' : 'provider_error');
    statuses.push(reply.status);
  }
  return statuses;
}

const reset: Closing = (socket, nth) => nth > 1 && Boolean(socket.resetAndDestroy());
const end: Closing = (socket, nth) => nth > 1 && Boolean(socket.end());

describe('an upstream that closes a kept connection as the next request arrives', () => {
  it.each([
    ['with a reset, not streamed', reset, false, false],
    ['with a reset, streamed', reset, true, false],
    ['with an end', end, true, false],
    ['with an end over TLS', end, false, true],
  ] as const)(
    'answers each request, sent once more on a new connection: %s',
    async (_, closing, stream, isTls) => {
      await start(closing, isTls);
      expect(await statusesOf(6, stream)).toEqual(Array(6).fill(200));
      const stale = uses.filter(nth => nth > 1).length;
      expect(stale).toBeGreaterThan(0);
      expect(await gateway.metric(errors, { kind: 'stale_connection' })).toBe(stale);
      expect(await gateway.metric(errors)).toBe(stale);
      for (const name of ['sluice_breaker_transitions_total', 'sluice_failovers_total'])
        expect([name, await gateway.metric(name)]).toEqual([name, 0]);
      expect(await gateway.metric('sluice_provider_in_flight')).toBe(0);
    },
  );

  it.each([
    ['with a reset', reset, false],
    ['with an end', end, false],
    ['with an end over TLS', end, true],
  ] as const)('answers each request that is passed through as well: %s', async (_, closing, isTls) => {
    await start(closing, isTls);
    const path = '/v1/embeddings';
    for (let sent = 0; sent < 6; sent++) {
      const body = JSON.stringify({ model: 'aion-labs/aion-3.5', input: `text ${sent}` });
      const reply = await gateway.post(body, { path });
      expect([reply.status, await reply.text()]).toEqual([200, body]);
    }
    // Four bytes to a token, and none of them counted twice.
    expect(await gateway.metric('gen_ai_client_token_usage_sum', { gen_ai_token_type: 'input' })).toBe(
      6 * 12,
    );
    await (await gateway.post('{}', { path })).text();
    // The connection is closed while a body is still arriving.
    const before = uses.length;
    const client = new RawConnection(gateway.url);
    client.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${clientKey}\r\ncontent-length: 6\r\n\r\nabc`,
    );
    await until(() => uses.length === before + 2);
    client.write('def');
    await client.received(/abcdef/);
    expect(client.text).toMatch(/^HTTP\/1.1 200 /);
    client.destroy();
    const headers = { authorization: `Bearer ${clientKey}` };
    for (let sent = 0; sent < 3; sent++) {
      const reply = await fetch(gateway.url + path, { headers });
      expect([reply.status, await reply.text()]).toEqual([200, 'nothing']);
    }
    const stale = uses.filter(nth => nth > 1).length;
    expect(stale).toBeGreaterThan(4);
    expect(await gateway.metric(errors, { kind: 'stale_connection' })).toBe(stale);
    expect(await gateway.metric(errors)).toBe(stale);
  });

  it('gets the whole of a large request again, which is not kept until its reply has ended', async () => {
    await start(reset);
    expect(await statusesOf(3, false, ' '.repeat(500_000))).toEqual([200, 200, 200]);
    expect(await gateway.metric(errors, { kind: 'stale_connection' })).toBeGreaterThan(0);
  });

  it('is not asked again once a byte of its reply has come', async () => {
    await start(
      (socket, nth) => nth > 1 && Boolean(socket.write('HTTP/1.1 2', () => socket.resetAndDestroy())),
    );
    expect(await statusesOf(2, false)).toEqual([200, 502]);
    expect(uses).toEqual([1, 2]);
    expect(await gateway.metric(errors, { kind: 'stale_connection' })).toBe(0);
  });

  it('is not asked again on the first use of a connection, and a new connection gets one request', async () => {
    await start((socket, nth) => (uses.length > 1 || nth > 1) && Boolean(socket.resetAndDestroy()));
    expect(await statusesOf(2, true)).toEqual([200, 502]);
    // The first, the one on its kept connection, and the one that was sent once more.
    expect(uses).toEqual([1, 2, 1]);
    expect(await gateway.metric(errors, { kind: 'stale_connection' })).toBe(1);
    expect(await gateway.metric(errors, { kind: 'unreachable' })).toBe(1);
  });

  it('is not asked again on the first use of a connection in the place of one that has ended', async () => {
    await start(socket => uses.length > 1 && Boolean(socket.resetAndDestroy()));
    server.prependListener('request', (_, response) => response.setHeader('connection', 'close'));
    expect(await statusesOf(2, false)).toEqual([200, 502]);
    expect(uses).toEqual([1, 1]);
    expect(await gateway.metric(errors, { kind: 'stale_connection' })).toBe(0);
  });
});
