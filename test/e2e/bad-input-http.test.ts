import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { RawConnection } from '../support/raw-client.ts';

let gateway: GatewayUnderTest;

beforeAll(async () => {
  gateway = await startGateway({ upstream: 'http://127.0.0.1:9/v1' });
});
afterAll(async () => gateway.close());

async function answerTo(bytes: string): Promise<{ head: string; body: unknown }> {
  const connection = new RawConnection(gateway.url);
  connection.write(bytes);
  await connection.closed;
  const [head = '', body = ''] = connection.text.split('\r\n\r\n');
  return { head, body: body && JSON.parse(body) };
}

describe('HTTP parsing', () => {
  it.each([
    ['garbage', 'hello there\r\n\r\n', 'The request is not valid HTTP.'],
    ['a broken header', 'GET /v1/models HTTP/1.1\r\nhost gateway\r\n\r\n', 'The request is not valid HTTP.'],
    [
      'headers without end',
      `GET /v1/models HTTP/1.1\r\nx: ${'a'.repeat(40_000)}\r\n\r\n`,
      'The request headers are too large.',
    ],
  ])('answers %s in the OpenAI error format', async (_, bytes, message) => {
    const { head, body } = await answerTo(bytes);
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(head).toMatch(/x-request-id: req_/);
    expect(body).toEqual({ error: { message, type: 'invalid_request_error' } });
  });

  it('writes no error response to garbage after other replies on a connection', async () => {
    const connection = new RawConnection(gateway.url);
    connection.write('GET /v1/models HTTP/1.1\r\nhost: gateway\r\n\r\n');
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
    const connection = new RawConnection(gateway.url);
    connection.write('GET http://gateway/v1/models/ HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\n\r\n');
    await connection.closed;
    expect(connection.text).toMatch(/^HTTP\/1\.1 200 OK/);
  });
});
