import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { RawConnection, type RawReply, send } from '../support/raw-client.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

let simulator: Simulator;
let sidecar: SidecarProcess;

beforeAll(async () => {
  simulator = await startSimulator({ recorded_requests: 1 });
  sidecar = await startSidecar(sidecarConfig(simulator.url));
});

/** Whatever came before, the next request is answered. */
afterEach(async () => {
  expect((await post(valid)).status).toBe(200);
});

afterAll(async () => {
  const code = await sidecar?.stop();
  await simulator?.close();
  expect(code).toBe(0);
  expect(sidecar.output()).not.toMatch(/"level":[56]0|Error:/);
});

const valid = JSON.stringify(ask('Hello'));
const limit_bytes = 16 * 1024 * 1024;
const authorization = `Bearer ${clientKey}`;

const post = (
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = { 'content-type': 'application/json' },
): Promise<RawReply> =>
  send(`${sidecar.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization, ...headers },
    body,
  });

const messageOf = ({ text }: RawReply): string => {
  const { error } = JSON.parse(text) as { error: { message: string; type: string } };
  expect(error.type).toBe('invalid_request_error');
  return error.message;
};

describe('the request body size limit', () => {
  /** A request of exactly so many bytes, most of them white space. */
  const sized = (bytes: number): Buffer =>
    Buffer.concat([Buffer.from(valid), Buffer.alloc(bytes - valid.length, ' ')]);

  it('accepts a body of exactly 16 MiB', async () => {
    expect((await post(sized(limit_bytes))).status).toBe(200);
  });

  it.each([1, 1024 * 1024, 20 * 1024 * 1024])(
    'rejects a body %d bytes over the limit with 413',
    async more => {
      const reply = await post(sized(limit_bytes + more));
      expect(reply.status).toBe(413);
      expect(messageOf(reply)).toContain(`${limit_bytes} bytes`);
    },
  );

  it('rejects a chunked body of unknown length over the limit', async () => {
    const connection = new RawConnection(sidecar.url);
    connection.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: ${authorization}\r\n` +
        'content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    );
    const mebibyte = Buffer.alloc(1024 * 1024, ' ');
    for (let sent = 0; sent < 17; sent++) {
      connection.write(`${mebibyte.length.toString(16)}\r\n`);
      connection.write(mebibyte);
      connection.write('\r\n');
    }
    await connection.received(/^HTTP\/1\.1 413 [\s\S]*invalid_request_error/);
    connection.destroy();
  });
});

describe('the Content-Type of a request', () => {
  it.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json; charset=utf8; profile=x',
    'application/vnd.api+json',
    ' application/json ;',
  ])('accepts %p', async type => {
    expect((await post(valid, { 'content-type': type })).status).toBe(200);
  });

  it('accepts a JSON body without a Content-Type, or with an empty one', async () => {
    expect((await post(valid, {})).status).toBe(200);
    expect((await post(valid, { 'content-type': '' })).status).toBe(200);
    expect(messageOf(await post('model=x', {}))).toMatch(/not valid JSON/);
  });

  it.each([
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    'application/octet-stream',
    'nonsense',
    `application/${'x'.repeat(100)}`,
  ])('rejects %p with 400', async type => {
    const reply = await post(valid, { 'content-type': type });
    expect(reply.status).toBe(400);
    expect(messageOf(reply)).toMatch(/^Content-Type: must be application\/json/);
    expect(messageOf(reply).length).toBeLessThan(200);
  });

  it.each(['utf-16', 'iso-8859-1', 'utf-8x'])('rejects the charset %s with 400', async charset => {
    const reply = await post(valid, { 'content-type': `application/json; charset=${charset}` });
    expect(reply.status).toBe(400);
    expect(messageOf(reply)).toMatch(/^Content-Type: the charset must be utf-8/);
  });
});

describe('the Content-Encoding of a request', () => {
  const encoded = (encoding: string, body: Buffer | string): Promise<RawReply> =>
    post(body, { 'content-type': 'application/json', 'content-encoding': encoding });

  it.each<[string, Buffer]>([
    ['gzip', gzipSync(valid)],
    ['GZIP', gzipSync(valid)],
    ['x-gzip', gzipSync(valid)],
    ['deflate', deflateSync(valid)],
    ['br', brotliCompressSync(valid)],
    ['identity', Buffer.from(valid)],
  ])('accepts %s', async (encoding, body) => {
    expect((await encoded(encoding, body)).status).toBe(200);
  });

  it.each<[string, Buffer]>([
    ['gzip', Buffer.from(valid)],
    ['gzip', gzipSync(valid).subarray(0, -12)],
    ['gzip', Buffer.alloc(0)],
    ['gzip', deflateSync(valid)],
    ['deflate', gzipSync(valid)],
    ['br', gzipSync(valid)],
    ['gzip', Buffer.concat([gzipSync(valid).subarray(0, 20), Buffer.alloc(100, 0xff)])],
  ])('rejects a body that is not %s although its header says so', async (encoding, body) => {
    const reply = await encoded(encoding, body);
    expect(reply.status).toBe(400);
    expect(messageOf(reply)).toMatch(/^Content-Encoding: .*not valid|^The request body is empty/);
  });

  it.each(['zstd', 'compress', 'gzip, gzip', 'x'.repeat(100), '__proto__'])('rejects %p', async encoding => {
    const reply = await encoded(encoding, gzipSync(valid));
    expect(reply.status).toBe(400);
    expect(messageOf(reply)).toMatch(/^Content-Encoding: .*gzip, deflate, br or identity/);
    expect(messageOf(reply).length).toBeLessThan(200);
  });

  it.each<[string, (text: Buffer) => Buffer]>([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])(
    'rejects a %s body that decompresses to more than 1 MiB plus 100 times its size',
    async (encoding, compress) => {
      const bomb = compress(Buffer.alloc(8 * 1024 * 1024, ' '));
      const accepted_bytes = 1024 * 1024 + 100 * bomb.length;
      const reply = await encoded(encoding, bomb);
      expect(reply.status).toBe(413);
      expect(messageOf(reply)).toBe(
        `The request body decompresses to more than the ${accepted_bytes} bytes accepted of ${bomb.length} bytes of ${encoding}.`,
      );
    },
  );

  it('accepts a small body that decompresses to 1 MiB', async () => {
    const padded = Buffer.concat([Buffer.from(valid), Buffer.alloc(1024 * 1024 - valid.length, ' ')]);
    expect((await encoded('gzip', gzipSync(padded))).status).toBe(200);
  });
});

const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const deepObjects = (levels: number): string => '{"a":'.repeat(levels) + 1 + '}'.repeat(levels);
const withField = (name: string, json: string): string => valid.replace(/}$/, `,"${name}":${json}}`);
const withContent = (json: string): string => valid.replace('"Hello"', json);

const invalid = /not valid JSON/;
const notObject = /must be a JSON object/;

describe('a malformed JSON body', () => {
  it.each<[string, string, RegExp]>([
    ['nothing', '', /empty/],
    ['white space', ' \r\n\t ', invalid],
    ['half an object', valid.slice(0, -1), invalid],
    ['NaN', withField('temperature', 'NaN'), invalid],
    ['a number in hexadecimal', withField('seed', '0x10'), invalid],
    ['null', 'null', notObject],
    ['an array of requests', `[${valid}]`, notObject],
    ['200,000 open brackets', '['.repeat(200_000), invalid],
    ['200,000 open braces', '{"a":'.repeat(200_000), /more than the 150000 keys accepted/],
    ['200,000 arrays in a field', withField('extra', deep(200_000)), /^extra: .*levels/],
    ['100,000 objects under __proto__', withField('__proto__', deepObjects(100_000)), /^__proto__: .*levels/],
    ['260 levels in tools', withField('tools', deep(260)), /^tools: .*256 levels/],
    [
      '1,001 unknown fields',
      `${manyKeys(1001).slice(0, -1)},${valid.slice(1)}`,
      /^more than the 1000 unknown/,
    ],
    [
      '300,000 numbers',
      withField('extra', `[${'1,'.repeat(300_000)}1]`),
      /more than the 300000 values accepted/,
    ],
  ])('is rejected: %s', async (_, body, says) => {
    const { requests } = simulator.stats;
    const { status, text } = await post(body);
    const { error } = JSON.parse(text) as { error: { message: string; type: string } };
    expect(status).toBe(400);
    expect(error.type).toBe('invalid_request_error');
    expect(error.message).toMatch(says);
    expect(error.message.length).toBeLessThan(300);
    expect(simulator.stats.requests).toBe(requests);
  });
});

function manyKeys(count: number): string {
  return JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`key${at}`, 'v'])));
}

describe('the UTF-8 decoding of a body', () => {
  const around = (bytes: readonly number[]): Buffer => {
    const [before = '', after = ''] = valid.split('Hello');
    return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
  };

  it.each<[string, Buffer]>([
    ['a byte that is never valid', around([0xff])],
    ['a continuation without its beginning', around([0x80])],
    ['a character that is cut', around([0xe2, 0x82])],
    ['a character written too long', around([0xc0, 0x80])],
    ['half of a surrogate pair', around([0xed, 0xa0, 0xbc])],
    ['more than Unicode has', around([0xf5, 0x80, 0x80, 0x80])],
    ['UTF-16', Buffer.from(`\ufeff${valid}`, 'utf16le')],
    ['Latin-1', Buffer.from(valid.replace('Hello', 'Grüße'), 'latin1')],
  ])('rejects %s with 400', async (_, body) => {
    const { status, text } = await post(body);
    expect(status).toBe(400);
    expect(JSON.parse(text).error.message).toMatch(/not valid UTF-8/);
  });

  it('accepts one leading byte order mark and rejects two', async () => {
    expect((await post(`\ufeff${valid}`)).status).toBe(200);
    expect((await post(`\ufeff\ufeff${valid}`)).status).toBe(400);
  });
});

describe('an unusual but valid body', () => {
  it.each<[string, string]>([
    ['half characters', withContent('"\\ud83c and \\udf0a"')],
    ['60 levels in a field', withField('extra', deep(60))],
    [
      '250 levels in tools',
      withField('tools', `[{"type":"function","function":{"name":"f","x":${deep(247)}}}]`),
    ],
    ['1,000 unknown fields', `${manyKeys(1000).slice(0, -1)},${valid.slice(1)}`],
    ['a key twice', withField('model', '"aion-labs/aion-3.5-mini"')],
    ['prototypes', withField('__proto__', '{"stream":true,"model":"x","messages":[]}')],
    ['prototypes in messages', withContent('"Hi","__proto__":{"tool_calls":[{}],"role":"tool"}')],
    ['a million spaces', valid.replace('{', `{${' '.repeat(1_000_000)}`)],
  ])('is accepted: %s', async (_, body) => {
    const { status, headers } = await post(body);
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^application\/json/);
  });

  it('takes the last of two model fields', async () => {
    const { text } = await post(withField('model', '"aion-labs/aion-3.5-mini"'));
    expect(JSON.parse(text).model).toBe('aion-labs/aion-3.5-mini');
    expect(simulator.requests.at(-1)?.body).toMatchObject({ model: 'aion-3.5-mini' });
  });
});
