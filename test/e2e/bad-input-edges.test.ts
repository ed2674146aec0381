import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { PageError } from '../../plugins/dashboard/page-response.ts';
import { readForm } from '../../plugins/dashboard/read-form.ts';
import { createHttpServer, envelopeFormat, textFormat } from '../../src/cli/http-server.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { RawConnection } from '../support/raw-client.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;
const connections: RawConnection[] = [];

beforeAll(async () => {
  simulator = await startSimulator();
  gateway = await startGateway({
    upstream: simulator,
    config: { passthrough: [{ path: '/v1/embeddings', provider: 'upstream' }] },
  });
});

afterEach(() => {
  for (const connection of connections.splice(0)) connection.destroy();
});

afterAll(async () => {
  await gateway?.close();
  await simulator?.close();
});

function open(bytes: string, url = gateway.url): RawConnection {
  const connection = new RawConnection(url);
  connections.push(connection);
  connection.write(bytes);
  return connection;
}

const valid = JSON.stringify(ask('Hello'));
const authorization = `authorization: Bearer ${clientKey}`;
const lines = (...parts: string[]): string => `${parts.join('\r\n')}\r\n\r\n`;
const post = (length: number, ...more: string[]): string =>
  lines(
    'POST /v1/chat/completions HTTP/1.1',
    'host: gateway',
    'content-type: application/json',
    `content-length: ${length}`,
    ...more,
  );

/** What Node would answer by itself, or hang up on: status, and a part of the message. */
const refused: readonly [name: string, bytes: string, status: number, message: RegExp][] = [
  ['a request without Host', lines('GET /v1/models HTTP/1.1'), 400, /no Host header/],
  [
    'a request with two Hosts',
    lines('GET /v1/models HTTP/1.1', 'host: a', 'Host: b'),
    400,
    /more than one Host/,
  ],
  [
    'a request with the same Host twice',
    lines('GET /v1/models HTTP/1.0', 'host: a', 'host: a'),
    400,
    /more than one/,
  ],
  ['an unknown expectation', post(2, 'expect: 200-ok'), 417, /100-continue/],
  ['CONNECT', lines('CONNECT example.com:443 HTTP/1.1', 'host: example.com:443'), 405, /CONNECT/],
  [
    'headers that are too large',
    lines('GET / HTTP/1.1', 'host: a', `x: ${'y'.repeat(40_000)}`),
    400,
    /too large/,
  ],
  ['HTTP/2 without asking', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, /not valid HTTP/],
  [
    'chunk extensions that are too large',
    `${lines('POST /v1/chat/completions HTTP/1.1', 'host: a', authorization, 'transfer-encoding: chunked')}2;${'x'.repeat(20_000)}\r\n{}\r\n`,
    400,
    /chunk extensions/,
  ],
];

describe('a request refused before any handler runs', () => {
  it.each(refused)(
    'is answered in the OpenAI error format and its connection closed: %s',
    async (_, bytes, status, message) => {
      const { requests } = simulator.stats;
      const connection = open(bytes);
      await connection.closed;
      const [head = '', body = ''] = connection.text.split('\r\n\r\n');
      expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} \\w`));
      expect(head).toMatch(/\r\nx-request-id: req_/);
      expect(head).toMatch(/\r\ncontent-type: application\/json/);
      expect(head).toMatch(/\r\nconnection: close/i);
      const { error } = JSON.parse(body) as { error: { message: string; type: string } };
      expect(error.type).toBe('invalid_request_error');
      expect(error.message).toMatch(message);
      expect(simulator.stats.requests).toBe(requests);
    },
  );

  it.each(refused.slice(0, -1))(
    'is answered in plain text at the admin address: %s',
    async (_, bytes, status) => {
      const connection = open(bytes.replace('/v1/chat/completions', '/dashboard'), gateway.adminUrl);
      await connection.closed;
      expect(connection.text).toMatch(
        new RegExp(`^HTTP/1\\.1 ${status} \\w[\\s\\S]*content-type: text/plain`),
      );
      expect(connection.text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    },
  );

  it('keeps the request id that the client sent', async () => {
    const connection = open(lines('CONNECT example.com:443 HTTP/1.1', 'host: a', 'x-request-id: mine'));
    await connection.received(/^HTTP\/1\.1 405 [\s\S]*x-request-id: mine\r\n/);
    expect(connection.text).toMatch(/\r\nallow: GET, HEAD, POST\r\n/);
  });

  it('is answered even when the client sends its whole body before reading', async () => {
    const body = 'x'.repeat(500_000);
    const connection = open(
      `${lines('POST /v1/chat/completions HTTP/1.1', `content-length: ${body.length}`)}${body}`,
    );
    await connection.closed;
    expect(connection.text).toMatch(/^HTTP\/1\.1 400 [\s\S]*no Host header/);
  });

  it('does not include an HTTP/1.0 request without Host', async () => {
    const connection = open(lines('GET /v1/models HTTP/1.0'));
    await connection.closed;
    expect(connection.text).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('a refused connection', () => {
  let server: Server;

  beforeAll(async () => {
    server = createHttpServer(() => {}, envelopeFormat);
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => new Promise(resolve => server.close(resolve)));

  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const open_count = () =>
    new Promise<number>(resolve => server.getConnections((_, count) => resolve(count)));

  it.each(['nonsense\r\n\r\n', lines('CONNECT a:1 HTTP/1.1', 'host: a')])(
    'is closed even when the client does not close its own side: %p',
    async bytes => {
      const { port } = new URL(url());
      const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
      socket
        .on('error', () => {})
        .resume()
        .write(bytes);
      await once(socket, 'end');
      await until(async () => (await open_count()) === 0);
      socket.destroy();
    },
  );

  /** All that a client reads which has sent this much when the time for its headers is over. */
  async function timedOut(sent: string): Promise<string> {
    const accepted = once(server, 'connection');
    const connection = open(sent, url());
    const [socket] = (await accepted) as [Socket];
    await until(() => socket.bytesRead === sent.length);
    const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    server.emit('clientError', late, socket);
    await connection.closed;
    return connection.text;
  }

  it('is answered 400, not 408, when its headers time out, because clients retry a 408', async () => {
    expect(await timedOut('GET / HTTP/1.1\r\n')).toMatch(/^HTTP\/1\.1 400 [\s\S]*did not arrive in time/);
  });

  it('is answered nothing when none of it has come: a browser opens connections in advance', async () => {
    expect(await timedOut('')).toBe('');
  });
});

describe('a client that sends Expect: 100-continue', () => {
  const expecting = 'expect: 100-continue';

  it.each([
    ['a request without a key', post(valid.length, expecting), 401],
    ['a request with a wrong key', post(valid.length, expecting, 'authorization: Bearer sk-wrong'), 401],
    ['an unknown path', post(valid.length, expecting, authorization).replace('/chat/', '/chess/'), 404],
    ['a wrong method', post(valid.length, expecting, authorization).replace('POST', 'PUT'), 405],
    ['a body that is too large', post(1e9, expecting, authorization), 413],
    [
      'a body of a wrong type',
      post(valid.length, expecting, authorization).replace('application/json', 'text/csv'),
      400,
    ],
    [
      'a body that is passed on, without a key',
      post(valid.length, expecting).replace('chat/completions', 'embeddings'),
      401,
    ],
    [
      'a body that is passed on, too large',
      post(1e12, expecting, authorization).replace('chat/completions', 'embeddings'),
      413,
    ],
  ])('is refused without 100 and its connection closed: %s', async (_, bytes, status) => {
    const connection = open(bytes);
    await connection.closed;
    expect(connection.text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*connection: close`, 'i'));
    expect(connection.text).not.toContain('HTTP/1.1 100');
  });

  it('receives the refusal even when it sends its body without waiting', async () => {
    const connection = open(post(valid.length, expecting) + valid);
    await connection.closed;
    expect(connection.text).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('receives 100 once its key is known, and keeps its connection', async () => {
    const connection = open(post(valid.length, expecting, authorization));
    await connection.received(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    connection.write(valid);
    await connection.received(/HTTP\/1\.1 200 [\s\S]*"usage"/);
    expect(connection.text).not.toMatch(/connection: close/i);
    connection.write(post(valid.length, authorization) + valid);
    await connection.received(/HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 200 /);
  });

  it('receives 100 on a path that is passed through', async () => {
    const body = JSON.stringify({ model: 'x', input: 'y' });
    const connection = open(
      post(body.length, expecting, authorization).replace('chat/completions', 'embeddings'),
    );
    await connection.received(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
    connection.write(body);
    await connection.received(/HTTP\/1\.1 [2-5]\d\d [\s\S]*\r\n\r\n/);
  });

  it('receives 100 for a dashboard form', async () => {
    const server = createHttpServer((request, response) => {
      void readForm(request).then(
        form => response.end(form.get('a')),
        (refused: PageError) => response.writeHead(refused.status, { connection: 'close' }).end(),
      );
    }, textFormat);
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const form = (length: number) =>
      post(length, expecting).replace('application/json', 'application/x-www-form-urlencoded');
    const connection = open(form(7), url);
    await connection.received(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    connection.write('a=hello');
    await connection.received(/HTTP\/1\.1 200 [\s\S]*hello/);
    const large = open(form(1_000_000), url);
    await large.closed;
    expect(large.text).toMatch(/^HTTP\/1\.1 413 /);
    connection.destroy();
    await new Promise(resolve => server.close(resolve));
  });

  it('receives no 100 over HTTP/1.0', async () => {
    const connection = open(
      `${post(valid.length, expecting, authorization).replace('HTTP/1.1', 'HTTP/1.0')}${valid}`,
    );
    await connection.closed;
    expect(connection.text).toMatch(/^HTTP\/1\.1 200 /);
  });
});

/** The head of the answer to these bytes, and its body. */
async function answerTo(bytes: string): Promise<{ head: string; body: unknown }> {
  const connection = open(bytes);
  await connection.closed;
  const [head = '', body = ''] = connection.text.split('\r\n\r\n');
  return { head, body: body && JSON.parse(body) };
}

describe('HTTP parsing', () => {
  it('writes no error response to garbage after other replies on a connection', async () => {
    const connection = open('GET /v1/models HTTP/1.1\r\nhost: gateway\r\n\r\n');
    await connection.received(/"object":"list"[\s\S]*\}$/);
    connection.write('garbage\r\n\r\n');
    await connection.closed;
    expect(connection.text.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 200']);
  });

  it('answers 426 to the WebSocket of Codex, and closes the connection', async () => {
    const { head, body } = await answerTo(
      'GET /v1/responses HTTP/1.1\r\nhost: gateway\r\nconnection: Upgrade\r\nupgrade: websocket\r\n' +
        'sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    );
    expect(head).toMatch(/^HTTP\/1\.1 426 /);
    expect(head).toMatch(/^upgrade: HTTP\/1\.1\r$/im);
    expect(body).toEqual({
      error: {
        message: 'WebSockets are not offered here. Send the request with POST.',
        type: 'invalid_request_error',
      },
    });
  });

  it.each([
    [
      'a bad key',
      'POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer sk-no\r\ncontent-length: 0',
      401,
    ],
    ['no key', 'POST /v1/responses HTTP/1.1\r\ncontent-length: 0', 401],
    ['an unknown path', 'GET /v1/nothing HTTP/1.1', 404],
    ['another method', 'GET /v1/chat/completions HTTP/1.1', 405],
    ['an unknown expectation', 'GET /v1/models HTTP/1.1\r\nexpect: nothing', 417],
    ['two hosts', 'GET /v1/models HTTP/1.1\r\nhost: other', 400],
  ])('tells clients not to repeat a request with %s', async (_, lines, status) => {
    const { head } = await answerTo(`${lines}\r\nhost: gateway\r\nconnection: close\r\n\r\n`);
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(head).toMatch(/^x-should-retry: false\r?$/im);
  });

  it('accepts a target in absolute form and with a trailing slash', async () => {
    const connection = open(
      'GET http://gateway/v1/models/ HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\n\r\n',
    );
    await connection.closed;
    expect(connection.text).toMatch(/^HTTP\/1\.1 200 OK/);
  });
});
