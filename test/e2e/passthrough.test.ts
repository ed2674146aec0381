import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, createServer as createConnectionServer, type Server, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import express from 'express';
import { alongside } from '../support/express-app.ts';
import {
  clientKey,
  type GatewayUnderTest,
  startGateway,
  upstreamKey,
} from '../support/gateway-under-test.ts';
import { expectRefusal } from '../support/hostile-setting.ts';
import { closeMounted, mounted } from '../support/mounted-gateway.ts';
import { RawConnection, send } from '../support/raw-client.ts';
import {
  chunk,
  head,
  lastChunk,
  pieces,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamHead,
  thenClose,
  thenReset,
  whole,
} from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

const passthrough = [
  { path: '/v1/embeddings', provider: 'upstream', forward_headers: ['OpenAI-Beta'], max_body_bytes: 1000 },
  { path: '/v1/files', methods: ['GET' as const, 'POST' as const], provider: 'upstream' },
  { path: '/v1/files/*', methods: ['GET' as const, 'DELETE' as const], provider: 'upstream' },
  { path: '/v1/audio/*', methods: ['POST' as const], provider: 'upstream' },
];
const config = { passthrough };
const authorization = `Bearer ${clientKey}`;
const embeddings = { path: '/v1/embeddings' };
const speech = { path: '/v1/audio/speech' };

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;
/** Waits at most a second for an upstream, and for a client that sends. */
let impatient: GatewayUnderTest;

beforeAll(async () => {
  upstream = alongside(await startScriptedUpstream(whole(200, {})));
  gateway = alongside(await startGateway({ upstream, config }));
  const server = { body_idle_ms: 1000 };
  impatient = alongside(
    await startGateway({ upstream, config, server, provider: { idle_timeout_ms: 1000 } }),
  );
});

afterAll(closeMounted);

/** A request on a connection of its own; `headers` end with a line break. */
function raw(of: GatewayUnderTest, path: string, headers: string, body: string): RawConnection {
  const client = new RawConnection(of.url);
  alongside({ close: () => client.destroy() });
  client.write(
    `POST ${path} HTTP/1.1\r\nhost: g\r\nauthorization: ${authorization}\r\n${headers}\r\n${body}`,
  );
  return client;
}

/** How many exchanges have ended so since this was called. */
async function endings(of: GatewayUnderTest, end_reason: string) {
  const ended = () => of.metric('sluice_requests_total', { endpoint: 'passthrough', end_reason });
  const before = await ended();
  return (count: number) => until(async () => (await ended()) === before + count);
}

/** The base address of a provider that is this server, on a free port. */
async function baseOf(server: Server): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

describe('a passed-through request', () => {
  it('reaches the provider below its base address with the body untouched, and is settled', async () => {
    const completed = await endings(gateway, 'completed');
    upstream.replyOnce(whole(200, '{"object":"list"}'));
    const body = '{ "input" : "\\u00e9", "seed": 12345678901234567890 }';
    const response = await gateway.post(body, { path: '/v1/embeddings?dimensions=8' });
    expect([response.status, await response.text()]).toEqual([200, '{"object":"list"}']);
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
    expect(upstream.last).toMatchObject({ method: 'POST', path: '/v1/embeddings?dimensions=8', text: body });
    await completed(1);
  });

  it('has the key of the provider and nothing that identifies the client', async () => {
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
    const { host, connection: _, ...headers } = upstream.last.headers;
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
    const before = upstream.requests.length;
    const without = await gateway.post('{}', { ...embeddings, headers: { authorization: 'Bearer no' } });
    expect(without.status).toBe(401);
    const wrong = await fetch(`${gateway.url}/v1/embeddings`, { headers: { authorization } });
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST']);
    for (const path of ['/v1/embeddings/more', '/v1/audio', '/v1/file', '/v1/files/a/../../x']) {
      const { status } = await send(gateway.url + path, { method: 'POST', headers: { authorization } });
      expect([path, status]).toEqual([path, 404]);
    }
    expect(upstream.requests).toHaveLength(before);
  });

  it('is refused when its body is larger than allowed, announced or not', async () => {
    const announced = await gateway.post('x'.repeat(1001), embeddings);
    expect(announced.status).toBe(413);
    upstream.replyOnce(() => {});
    const endless = {
      ...embeddings,
      body: Readable.from(['x'.repeat(900), 'x'.repeat(900)]),
      duplex: 'half',
    };
    const message = 'The request body is larger than the 1000 bytes accepted.';
    await expectRefusal(
      await gateway.post('', endless as RequestInit),
      413,
      'invalid_request_error',
      message,
    );
    const before = upstream.requests.length;
    const at_once = `3e9\r\n${'x'.repeat(1001)}\r\n0\r\n\r\n`;
    await raw(gateway, embeddings.path, 'transfer-encoding: chunked\r\n', at_once).received(
      /^HTTP\/1.1 413 /,
    );
    expect(upstream.requests).toHaveLength(before);
  });

  it('is refused when its body does not arrive for body_idle_ms', async () => {
    const client = raw(impatient, embeddings.path, 'content-length: 100\r\n', '{"a":');
    await client.received(/^HTTP\/1.1 400 [\s\S]*The request body did not arrive: nothing for 1 seconds\./);
  });

  it('stays unchanged for an application that has parsed its body and logs it', async () => {
    const logged: unknown[] = [];
    const { url } = await mounted(
      upstream,
      app =>
        app.use(express.json(), (request, response, next) => {
          response.on('finish', () => logged.push([request.url, request.headers['user-agent']]));
          next();
        }),
      config,
    );
    const response = await fetch(`${url}/v1/embeddings?a=b`, {
      method: 'POST',
      body: '{ "input": "a" }',
      headers: { authorization, 'content-type': 'application/json', 'user-agent': 'client/1' },
    });
    expect([response.status, await response.json()]).toEqual([200, {}]);
    await until(() => logged.length > 0);
    expect(logged).toEqual([['/v1/embeddings?a=b', 'client/1']]);
    expect(upstream.last).toMatchObject({ path: '/v1/embeddings?a=b', text: '{"input":"a"}' });
    expect(upstream.last.headers['user-agent']).toBeUndefined();
  });
});

describe('an upload that is passed through', () => {
  it('arrives as it is sent, with parts and boundary unchanged, however many megabytes it has', async () => {
    const received = createHash('sha256');
    const server = createServer(async (request: IncomingMessage, response) => {
      for await (const part of request) received.update(part as Buffer);
      response.end(JSON.stringify({ type: request.headers['content-type'] }));
    });
    alongside({ close: () => server.close().closeAllConnections() });
    const { url } = await mounted({ url: await baseOf(server) }, undefined, config);
    const form = new FormData();
    form.set('purpose', 'batch');
    form.set('file', new Blob([randomBytes(4 * 1024 * 1024)]), 'input.bin');
    const probe = new Response(form);
    const type = probe.headers.get('content-type') ?? '';
    const body = Buffer.from(await probe.arrayBuffer());
    const headers = { authorization, 'content-type': type };
    const response = await fetch(`${url}/v1/files`, { method: 'POST', body, headers });
    expect(await response.json()).toEqual({ type });
    expect(received.digest('hex')).toBe(createHash('sha256').update(body).digest('hex'));
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
        body: Buffer.alloc(12 * 1024 * 1024),
        headers: { authorization },
      });
    await expectRefusal(
      await upload(),
      502,
      'provider_error',
      'The upstream provider did not answer in time.',
    );
    answer = `HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`;
    const early = await upload();
    expect([early.status, await early.text()]).toEqual([200, 'ok']);
    for (const socket of sockets) socket.destroy();
    server.close();
  });
});

describe('a reply that is passed through', () => {
  it('keeps its bytes and the headers that describe them, and loses those that describe the server', async () => {
    const bytes = Buffer.from([0, 255, 10, 13, 0, 128]);
    upstream.replyOnce(
      whole(200, bytes, {
        'content-type': 'audio/mpeg',
        'content-disposition': 'attachment; filename="a.mp3"',
        etag: '"1"',
        server: 'engine/1.2',
        'set-cookie': 'a=b',
        'x-ratelimit-remaining-requests': '1',
        'x-request-id': 'of-the-upstream',
        via: '1.1 inner',
      }),
    );
    const response = await gateway.post('{}', speech);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes);
    const { connection: _, 'keep-alive': __, date: ___, ...headers } = Object.fromEntries(response.headers);
    expect(headers).toEqual({
      'content-type': 'audio/mpeg',
      'content-length': '6',
      'content-disposition': 'attachment; filename="a.mp3"',
      etag: '"1"',
      'x-request-id': expect.stringMatching(/^req_/),
    });
  });

  it('arrives piece by piece when it is a stream', async () => {
    let seen = '';
    upstream.replyOnce(async socket => {
      socket.write(streamHead());
      socket.write(chunk('data: 1\n\n'));
      await until(() => seen.includes('data: 1'));
      socket.write(chunk('data: 2\n\n') + lastChunk);
    });
    const response = await gateway.post('{}', speech);
    expect(response.headers.get('cache-control')).toBe('no-cache, no-transform');
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) seen += part;
    expect(seen).toBe('data: 1\n\ndata: 2\n\n');
  });

  it.each([
    [400, { error: { message: 'no such voice' } }, 400, 'invalid_request_error', 'no such voice'],
    [401, 'Unauthorized', 400, 'configuration_error', undefined],
    [404, { detail: 'Not Found' }, 404, 'invalid_request_error', 'The upstream provider has nothing there.'],
    [302, '', 502, 'provider_error', undefined],
    [429, {}, 502, 'provider_error', undefined],
    [500, '<html>boom at http://10.0.0.1/</html>', 502, 'provider_error', undefined],
  ] as const)(
    'becomes the error envelope when its status is %i',
    async (status, body, expected, type, message) => {
      upstream.replyOnce(
        whole(status, body, { location: 'http://127.0.0.1/elsewhere', 'set-cookie': 'a=b' }),
      );
      const response = await gateway.post('{}', speech);
      expect([response.headers.get('location'), response.headers.get('set-cookie')]).toEqual([null, null]);
      await expectRefusal(response, expected, type, message);
    },
  );

  it('is a 502 when the upstream closes, resets, breaks off an error or stays silent', async () => {
    const fails = async (of: GatewayUnderTest, script: Parameters<ScriptedUpstream['replyOnce']>[0]) => {
      upstream.replyOnce(script);
      await expectRefusal(await of.post('{}', speech), 502, 'provider_error');
    };
    // On connections of their own: a fault of one that was kept would be tried again.
    const fresh = alongside(await startGateway({ upstream, config }));
    for (const script of [thenClose(), thenReset()]) await fails(fresh, script);
    await fails(fresh, thenReset(`${head(500, { 'content-length': 100 })}{"err`));
    await fails(impatient, pieces([]));
    expect(await fresh.metric('sluice_upstream_errors_total', { kind: 'unreachable' })).toBe(2);
    expect(await impatient.metric('sluice_upstream_errors_total', { kind: 'timeout' })).toBe(1);
  });

  it('never looks complete when the upstream resets or stalls in its middle', async () => {
    const failed = await endings(impatient, 'upstream_failed');
    const starts = [head(200, { 'content-length': 100 }), `${streamHead()}${chunk('abc')}`];
    for (const script of [...starts.map(start => thenReset(start)), pieces([streamHead(), chunk('abc')])]) {
      upstream.replyOnce(script);
      await expect(impatient.post('{}', speech).then(response => response.text())).rejects.toThrow();
    }
    await failed(3);
  });
});

describe('an interim response to a request that is passed through', () => {
  const switching = 'HTTP/1.1 101 Switching Protocols\r\n';

  it.each([
    `${switching}connection: upgrade\r\nupgrade: websocket\r\n\r\n`,
    `${switching}content-length: 5\r\n\r\nhello`,
  ])('fails it at once when the upstream switches protocols unasked: %j', async bytes => {
    upstream.replyOnce(bytes);
    await expectRefusal(await gateway.post('{}', embeddings), 502, 'provider_error');
    expect(await upstream.last.closed).toBe('gateway');
  });

  it.each(['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'])(
    'is skipped: %j',
    async first => {
      upstream.replyOnce(first + whole(200, '{"data":[]}'));
      expect(await (await gateway.post('{}', embeddings)).text()).toBe('{"data":[]}');
    },
  );
});

describe('a client of a reply that is passed through', () => {
  it.each(['before the reply', 'in mid-reply'])(
    'closes the upstream connection when it leaves %s',
    async when => {
      const gone = await endings(gateway, 'client_gone');
      const before = upstream.requests.length;
      upstream.replyOnce(when === 'in mid-reply' ? pieces([streamHead(), chunk('abc')]) : () => {});
      const client = raw(gateway, speech.path, 'content-length: 2\r\n', '{}');
      await until(() => upstream.requests.length > before);
      if (when === 'in mid-reply') await client.received(/abc/);
      client.destroy();
      expect(await upstream.last.closed).toBe('gateway');
      await gone(1);
    },
  );

  it('is cut off when it stays connected but reads nothing', async () => {
    // Only the client is waited for shortly: on a busy machine the upstream may be late between two blocks.
    const strict = alongside(await startGateway({ upstream, config, server: { slow_client_ms: 1000 } }));
    const cut = await endings(strict, 'slow_client');
    const block = chunk(Buffer.alloc(64 * 1024, 'x'));
    upstream.replyOnce(async socket => {
      socket.write(streamHead());
      while (!socket.destroyed)
        if (!socket.write(block))
          await new Promise(resolve => socket.once('drain', resolve).once('close', resolve));
    });
    raw(strict, speech.path, 'content-length: 2\r\n', '{}').socket.pause();
    await cut(1);
    expect(await upstream.last.closed).toBe('gateway');
  });
});
