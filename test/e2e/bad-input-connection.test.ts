import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { RawConnection } from '../support/raw-client.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let sidecar: SidecarProcess;
const connections: RawConnection[] = [];

beforeAll(async () => {
  simulator = await startSimulator();
  sidecar = await startSidecar(sidecarConfig(simulator.url, { server: { body_idle_ms: 1500 } }));
});

/** Whatever came before, the next request is answered, and nothing is left running. */
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.destroy();
  const reply = await fetch(`${sidecar.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
    body: valid,
  });
  await reply.text();
  expect(reply.status).toBe(200);
  await until(async () => (await inFlight()) === 0);
});

afterAll(async () => {
  const code = await sidecar?.stop();
  await simulator?.close();
  expect(code).toBe(0);
  expect(sidecar.output()).not.toMatch(/"level":[56]0|Error:/);
});

const valid = JSON.stringify(ask('Hello'));
const large = 4 * 1024 * 1024;

function open(bytes: string | Buffer): RawConnection {
  const connection = new RawConnection(sidecar.url);
  connections.push(connection);
  connection.write(bytes);
  return connection;
}

const head = (length: number, ...more: string[]): string =>
  [
    'POST /v1/chat/completions HTTP/1.1',
    'host: gateway',
    `authorization: Bearer ${clientKey}`,
    'content-type: application/json',
    `content-length: ${length}`,
    ...more,
    '\r\n',
  ].join('\r\n');

async function inFlight(): Promise<number> {
  const text = await (await fetch(`${sidecar.adminUrl}/metrics`)).text();
  return [...text.matchAll(/^sluice_in_flight\{.*\} (\d+)$/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
}

const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

describe('a request body that arrives slowly', () => {
  it('is rejected with 400 and its connection closed after its time without a byte', async () => {
    const connection = open(head(valid.length) + valid.slice(0, 20));
    await connection.received(/^HTTP\/1\.1 400 [\s\S]*did not arrive: nothing for 1\.5 seconds/);
    await connection.closed;
  });

  it('is rejected with 400 when only its head has arrived', async () => {
    await open(head(valid.length)).received(/^HTTP\/1\.1 400 [\s\S]*did not arrive/);
  });

  it('is accepted when every pause is short, however many there are', async () => {
    const connection = open(head(valid.length));
    const step = Math.ceil(valid.length / 24);
    for (let at = 0; at < valid.length; at += step) {
      connection.write(valid.slice(at, at + step));
      await sleep(80);
    }
    await connection.received(/^HTTP\/1\.1 200 /);
  });
});

describe('a client that disconnects', () => {
  it.each<[string, string, number]>([
    ['after its head', head(valid.length), 1],
    ['in the middle of its body', head(valid.length) + valid.slice(0, 20), 1],
    ['in the middle of a large body', head(large) + ' '.repeat(large / 2), 1],
    ['in the middle of its head', 'POST /v1/chat/completions HTTP/1.1\r\nhost: gate', 0],
    ['before it says anything', '', 0],
  ])('%s causes no upstream request', async (_, bytes, begun) => {
    const { requests } = simulator.stats;
    const connection = open(bytes);
    await until(async () => connection.socket.readyState === 'open' && (await inFlight()) === begun);
    connection.destroy();
    await until(async () => (await inFlight()) === 0);
    expect(simulator.stats.requests).toBe(requests);
    expect(connection.text).toBe('');
  });

  it('among 500 others leaves no request in flight', async () => {
    const many = Array.from({ length: 500 }, () => open(`${head(1_000_000)}{`));
    await until(async () => {
      // On a slow machine the first would otherwise have been idle for too long when the last is there.
      for (const connection of many) connection.write(' ');
      return (await inFlight()) === 500;
    });
    for (const connection of many) connection.destroy();
    await until(async () => (await inFlight()) === 0);
  });
});

describe('input that is not valid HTTP', () => {
  it.each<[string, string | Buffer]>([
    ['words', 'hello there\r\n\r\n'],
    ['a TLS greeting', Buffer.from('16030100a5010000a10303', 'hex')],
    ['noise', Buffer.from(Array.from({ length: 4096 }, (_, at) => (at * 197 + 200) & 255))],
    ['NUL bytes', Buffer.alloc(1000)],
    ['an unknown method', 'BREW /v1/models HTTP/1.1\r\nhost: gateway\r\n\r\n'],
    ['an unknown version', 'GET /v1/models HTTP/7.1\r\nhost: gateway\r\n\r\n'],
    ['no host', 'GET /v1/models HTTP/1.1\r\n\r\n'],
    ['a header without a colon', 'GET /v1/models HTTP/1.1\r\nhost: gateway\r\nnonsense\r\n\r\n'],
    ['a NUL in a header', 'GET /v1/models HTTP/1.1\r\nhost: gateway\r\nx: a\0b\r\n\r\n'],
    ['a negative length', head(-1)],
    ['two lengths', head(5, 'content-length: 6')],
    ['a length and chunks', `${head(5, 'transfer-encoding: chunked')}0\r\n\r\n`],
    ['a length in words', head(Number.NaN)],
    ['a head of a megabyte', head(2, `x-large: ${'x'.repeat(1_000_000)}`)],
    ['a path of a megabyte', `GET /v1/${'x'.repeat(1_000_000)} HTTP/1.1\r\nhost: gateway\r\n\r\n`],
    [
      'chunks of no size',
      `${head(0).replace('content-length: 0', 'transfer-encoding: chunked')}zz\r\n{}\r\n0\r\n\r\n`,
    ],
  ])('is rejected with 4xx and its connection closed: %s', async (_, bytes) => {
    const { requests } = simulator.stats;
    const connection = open(bytes);
    await connection.received(/^HTTP\/1\.1 4\d\d /);
    await connection.closed;
    expect(connection.text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(simulator.stats.requests).toBe(requests);
  });
});

describe('rarely used HTTP', () => {
  it('answers pipelined requests in order', async () => {
    const wrong = head(valid.length).replace(clientKey, 'sk-unknown');
    const connection = open(
      `GET /v1/models HTTP/1.1\r\nhost: gateway\r\n\r\n${wrong}${valid}${head(2)}{}${head(valid.length, 'connection: close')}${valid}`,
    );
    await connection.closed;
    expect(connection.text.match(/HTTP\/1\.1 \d+/g)).toEqual([
      'HTTP/1.1 200',
      'HTTP/1.1 401',
      'HTTP/1.1 400',
      'HTTP/1.1 200',
    ]);
  });

  it('accepts a body in one-byte chunks', async () => {
    const chunks = [...valid].map(letter => `1\r\n${letter}\r\n`).join('');
    const start = head(0).replace('content-length: 0', 'transfer-encoding: chunked');
    await open(`${start}${chunks}0\r\n\r\n`).received(/^HTTP\/1\.1 200 /);
  });

  it('ends a stream to an HTTP/1.0 client by closing the connection', async () => {
    const body = JSON.stringify(ask('Hello', { stream: true }));
    const connection = open(head(body.length).replace('HTTP/1.1', 'HTTP/1.0') + body);
    await connection.closed;
    expect(connection.text).toMatch(/^HTTP\/1\.1 200 /);
    expect(connection.text).not.toMatch(/transfer-encoding/i);
    expect(connection.text).toMatch(/"delta":\{"role":"assistant"[\s\S]*data: \[DONE\]\n\n$/);
  });

  it('ignores an Upgrade header', async () => {
    const connection = open(
      'GET /v1/models HTTP/1.1\r\nhost: gateway\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n',
    );
    await connection.received(/^HTTP\/1\.1 200 [\s\S]*"object":"list"/);
  });
});
