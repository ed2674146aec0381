import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, createServer as createConnectionServer, type Server, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import express from 'express';
import { clientKey, upstreamKey } from '../support/gateway-under-test.ts';
import { closeHealthy, hostileSetting } from '../support/hostile-setting.ts';
import { closeMounted, mounted } from '../support/mounted-gateway.ts';
import { RawConnection, send } from '../support/raw-client.ts';
import { startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

const passthrough = [
  { path: '/v1/embeddings', provider: 'upstream', forward_headers: ['OpenAI-Beta'], max_body_bytes: 1000 },
  { path: '/v1/files', methods: ['GET' as const, 'POST' as const], provider: 'upstream' },
  { path: '/v1/files/*', methods: ['GET' as const, 'DELETE' as const], provider: 'upstream' },
];
const config = { passthrough };
const authorization = `Bearer ${clientKey}`;

afterEach(async () => {
  await closeHealthy();
  await closeMounted();
});

/** The base address of a provider that is this server, on a free port. */
async function baseOf(server: Server): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

describe('a passed-through path', () => {
  it('reaches the provider below its base address with the body untouched', async () => {
    const { gateway, upstream } = await hostileSetting({ config }, 2);
    upstream.replyOnce(whole(200, '{"object":"list"}'));
    const body = '{ "input" : "\\u00e9", "seed": 12345678901234567890 }';
    const response = await gateway.post(body, { path: '/v1/embeddings?dimensions=8' });
    expect([response.status, await response.text()]).toEqual([200, '{"object":"list"}']);
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
    const [request] = upstream.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/v1/embeddings?dimensions=8', text: body });
  });

  it('sends the provider its own key and nothing that identifies the client', async () => {
    const { gateway, upstream } = await hostileSetting({ config }, 2);
    upstream.replyOnce(whole(200, {}));
    await send(`${gateway.url}/v1/embeddings`, {
      method: 'POST',
      body: '{}',
      headers: {
        authorization,
        'content-type': 'application/json',
        'openai-beta': 'yes',
        cookie: 'session=1',
        'x-api-key': clientKey,
        'x-forwarded-for': '10.1.2.3',
        forwarded: 'for=10.1.2.3',
        'x-secret': 'of the client',
        'proxy-authorization': 'Basic eA==',
        te: 'trailers',
        expect: '100-continue',
      },
    });
    const { host, connection: _, ...headers } = upstream.requests[0]!.headers;
    expect(host).toBe(`127.0.0.1:${upstream.port}`);
    expect(headers).toEqual({
      'accept-encoding': 'identity',
      authorization: `Bearer ${upstreamKey}`,
      'content-length': '2',
      'content-type': 'application/json',
      'openai-beta': 'yes',
    });
  });

  it('requires a key and an allowed method, and leaves neighbouring paths unknown', async () => {
    const { gateway, upstream } = await hostileSetting({ config }, 2);
    const without = await gateway.post('{}', {
      path: '/v1/embeddings',
      headers: { authorization: 'Bearer no' },
    });
    expect(without.status).toBe(401);
    const wrong = await fetch(`${gateway.url}/v1/embeddings`, { headers: { authorization } });
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST']);
    for (const path of ['/v1/embeddings/more', '/v1/audio', '/v1/file', '/v1/files/a/../../x']) {
      expect((await send(gateway.url + path, { method: 'POST', headers: { authorization } })).status).toBe(
        404,
      );
    }
    expect(upstream.requests).toEqual([]);
  });

  it('is counted and settled as an exchange', async () => {
    const { gateway, upstream } = await hostileSetting({ config }, 2);
    upstream.replyOnce(whole(200, {}));
    await (await gateway.post('{}', { path: '/v1/embeddings' })).text();
    const labels = { endpoint: 'passthrough', status: '200', end_reason: 'completed' };
    expect(await gateway.metric('sluice_requests_total', labels)).toBe(1);
  });

  it('rejects a body larger than allowed, announced or not', async () => {
    const { gateway, upstream } = await hostileSetting({ config }, 2);
    const announced = await gateway.post('x'.repeat(1001), { path: '/v1/embeddings' });
    expect(announced.status).toBe(413);
    upstream.reply(() => {});
    const endless = {
      path: '/v1/embeddings',
      body: Readable.from(['x'.repeat(900), 'x'.repeat(900)]),
      duplex: 'half',
    };
    const unannounced = await gateway.post('', endless as RequestInit);
    expect([unannounced.status, await unannounced.json()]).toEqual([
      413,
      {
        error: {
          message: 'The request body is larger than the 1000 bytes accepted.',
          type: 'invalid_request_error',
        },
      },
    ]);
  });

  it('rejects an unannounced body larger than allowed that arrives all at once', async () => {
    const { gateway, upstream } = await hostileSetting({ config }, 2);
    upstream.reply(() => {});
    const client = new RawConnection(gateway.url);
    const headers = `host: g\r\nauthorization: ${authorization}\r\ntransfer-encoding: chunked\r\n`;
    client.write(`POST /v1/embeddings HTTP/1.1\r\n${headers}\r\n3e9\r\n${'x'.repeat(1001)}\r\n0\r\n\r\n`);
    await until(() => client.text.startsWith('HTTP/1.1 413 '));
    client.socket.destroy();
    expect(upstream.requests).toEqual([]);
  });

  it('waits for a body no longer than body_idle_ms', async () => {
    const { gateway, upstream } = await hostileSetting({ config, server: { body_idle_ms: 300 } }, 2);
    upstream.reply(() => {});
    const client = new RawConnection(gateway.url);
    const headers = `host: g\r\nauthorization: ${authorization}\r\ncontent-length: 100\r\n`;
    client.write(`POST /v1/embeddings HTTP/1.1\r\n${headers}\r\n{"a":`);
    await until(() => client.text.includes('The request body did not arrive: nothing for 0.3 seconds.'));
    expect(client.text).toMatch(/^HTTP\/1.1 400 /);
    client.socket.destroy();
  });

  it('sends on a body that the parent application has parsed', async () => {
    const upstream = await startScriptedUpstream(whole(200, {}));
    const { url } = await mounted(upstream, app => app.use(express.json()), {
      passthrough: passthrough.map(rule => ({ ...rule, provider: 'upstream' })),
    });
    const response = await fetch(`${url}/v1/embeddings`, {
      method: 'POST',
      body: '{ "input": "a" }',
      headers: { authorization, 'content-type': 'application/json' },
    });
    expect(response.status).toBe(200);
    expect(upstream.requests[0]).toMatchObject({ path: '/v1/embeddings', text: '{"input":"a"}' });
    await upstream.close();
  });
});

describe('a passed-through request', () => {
  it('stays unchanged for the surrounding application', async () => {
    const upstream = await startScriptedUpstream(whole(200, {}));
    const logged: unknown[] = [];
    const { url } = await mounted(
      upstream,
      app =>
        app.use((request, response, next) => {
          response.on('finish', () => logged.push([request.url, request.headers['user-agent']]));
          next();
        }),
      { passthrough: passthrough.map(rule => ({ ...rule, provider: 'upstream' })) },
    );
    const response = await fetch(`${url}/v1/embeddings?a=b`, {
      method: 'POST',
      body: '{}',
      headers: { authorization, 'user-agent': 'client/1' },
    });
    await response.text();
    await until(() => logged.length > 0);
    expect(logged).toEqual([['/v1/embeddings?a=b', 'client/1']]);
    expect(upstream.requests[0]!.headers['user-agent']).toBeUndefined();
    await upstream.close();
  });
});

describe('an upload', () => {
  it('of many megabytes passes through as it arrives, with parts and boundary unchanged', async () => {
    const received = createHash('sha256');
    const server = createServer(async (request: IncomingMessage, response) => {
      for await (const part of request) received.update(part as Buffer);
      response.end(JSON.stringify({ type: request.headers['content-type'] }));
    });
    const upstream = await baseOf(server);
    const setting = await hostileSetting({ config }, 2);
    const local = await mounted({ url: upstream }, undefined, {
      passthrough: [{ path: '/v1/files', methods: ['POST'], provider: 'upstream' }],
    });
    const form = new FormData();
    form.set('purpose', 'batch');
    form.set('file', new Blob([randomBytes(24 * 1024 * 1024)]), 'input.bin');
    const probe = new Response(form);
    const type = probe.headers.get('content-type') ?? '';
    const bytes = Buffer.from(await probe.arrayBuffer());
    const response = await fetch(`${local.url}/v1/files`, {
      method: 'POST',
      body: bytes,
      headers: { authorization, 'content-type': type },
    });
    expect(await response.json()).toEqual({ type });
    expect(received.digest('hex')).toBe(createHash('sha256').update(bytes).digest('hex'));
    expect(setting.upstream.requests).toEqual([]);
    server.closeAllConnections();
    server.close();
  });

  it('ends after idle_timeout_ms when the upstream does not read it, and with the answer when that comes first', async () => {
    const sockets = new Set<Socket>();
    let answer = '';
    const server = createConnectionServer(socket => {
      sockets.add(socket.on('error', () => {}));
      if (answer === '') return void socket.pause();
      socket.once('data', () => {
        socket.pause();
        socket.write(answer);
      });
    });
    const base_url = await baseOf(server);
    const { url } = await mounted({ url: base_url }, undefined, {
      passthrough,
      providers: { upstream: { adapter: 'vllm', base_url, idle_timeout_ms: 400 } },
    });
    const upload = () =>
      fetch(`${url}/v1/files`, {
        method: 'POST',
        body: Buffer.alloc(24 * 1024 * 1024),
        headers: { authorization },
      });
    const unread = await upload();
    expect([unread.status, await unread.json()]).toEqual([
      502,
      { error: { message: 'The upstream provider did not answer in time.', type: 'provider_error' } },
    ]);
    answer = `HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`;
    const early = await upload();
    expect([early.status, await early.text()]).toEqual([200, 'ok']);
    for (const socket of sockets) socket.destroy();
    server.close();
  });
});
