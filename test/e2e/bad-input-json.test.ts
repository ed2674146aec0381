import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { type RawReply, send } from '../support/raw-client.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

let simulator: Simulator;
let sidecar: SidecarProcess;

beforeAll(async () => {
  simulator = await startSimulator({ recorded_requests: 1 });
  sidecar = await startSidecar(sidecarConfig(simulator.url));
});

/** Whatever came before, the next request is answered. */
afterEach(async () => {
  expect((await post(JSON.stringify(ask('Hello')))).status).toBe(200);
});

afterAll(async () => {
  const code = await sidecar?.stop();
  await simulator?.close();
  expect(code).toBe(0);
  // Level 50 and above is the log of bugs.
  expect(sidecar.output()).not.toMatch(/"level":[56]0|Error:/);
});

const post = (body: string | Buffer): Promise<RawReply> =>
  send(`${sidecar.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
    body,
  });

const valid = JSON.stringify(ask('Hello'));
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
    ['one bracket', '{', invalid],
    ['two objects', valid + valid, invalid],
    ['a trailing comma', valid.replace(/}$/, ',}'), invalid],
    ['single quotes', valid.replaceAll('"', "'"), invalid],
    ['a comment', `/* hi */${valid}`, invalid],
    ['NaN', withField('temperature', 'NaN'), invalid],
    ['Infinity', withField('temperature', 'Infinity'), invalid],
    ['a number in hexadecimal', withField('seed', '0x10'), invalid],
    ['a control character in a string', withContent('"a\u0001b"'), invalid],
    ['NUL bytes', '\0'.repeat(100), invalid],
    ['a form', 'model=aion-labs%2Faion-3.5&stream=true', invalid],
    ['an event stream', 'data: {}\n\n', invalid],
    ['an unknown escape', withContent('"\\x41"'), invalid],
    ['null', 'null', notObject],
    ['true', 'true', notObject],
    ['a number', '17', notObject],
    ['a string', '"{}"', notObject],
    ['an array', '[]', notObject],
    ['an array of requests', `[${valid}]`, notObject],
    ['200,000 open brackets', '['.repeat(200_000), invalid],
    ['100,000 open braces', '{"a":'.repeat(100_000), invalid],
    ['200,000 open braces', '{"a":'.repeat(200_000), /more than the 150000 keys accepted/],
    ['200,000 arrays', deep(200_000), notObject],
    ['200,000 arrays in a field', withField('extra', deep(200_000)), /^extra: .*levels/],
    ['100,000 objects in a field', withField('extra', deepObjects(100_000)), /^extra: .*levels/],
    ['200,000 arrays in tools', withField('tools', deep(200_000)), /^tools: .*levels/],
    ['100,000 objects in metadata', withField('metadata', deepObjects(100_000)), /^metadata: .*levels/],
    ['200,000 arrays as content', withContent(deep(200_000)), /^messages: .*levels/],
    ['100,000 objects under __proto__', withField('__proto__', deepObjects(100_000)), /^__proto__: .*levels/],
    ['70 levels in a field', withField('logit_bias', deepObjects(70)), /^logit_bias: .*64 levels/],
    ['260 levels in tools', withField('tools', deep(260)), /^tools: .*256 levels/],
    ['100,000 keys of metadata', withField('metadata', manyKeys(100_000)), /^metadata: .*at most 16/],
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
    ['a name of a million characters', withField('x'.repeat(1_000_000), deep(100)), /^x{64}: .*levels/],
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
    ['a NUL character', withContent('"a\\u0000b"')],
    ['60 levels in a field', withField('extra', deep(60))],
    [
      '250 levels in tools',
      withField('tools', `[{"type":"function","function":{"name":"f","x":${deep(247)}}}]`),
    ],
    ['1,000 unknown fields', `${manyKeys(1000).slice(0, -1)},${valid.slice(1)}`],
    ['a key twice', withField('model', '"aion-labs/aion-3.5-mini"')],
    ['white space around', `\r\n\t ${valid} \n`],
    ['an exponent', withField('max_tokens', '1e2')],
    ['minus zero', withField('temperature', '-0')],
    ['prototypes', withField('__proto__', '{"stream":true,"model":"x","messages":[]}')],
    ['prototypes in messages', withContent('"Hi","__proto__":{"tool_calls":[{}],"role":"tool"}')],
    ['a constructor', withField('constructor', '{"prototype":{"stream":true}}')],
    ['a million spaces', valid.replace('{', `{${' '.repeat(1_000_000)}`)],
    ['an answer of no words', withContent('""')],
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
