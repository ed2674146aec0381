import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  simulator = await startSimulator({ recorded_requests: 1 });
  gateway = await startGateway({ upstream: simulator });
});

afterAll(async () => {
  await gateway?.close();
  await simulator?.close();
});

const keys = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`key${at}`, 'value']));

/** One character to a reader, two UTF-16 units and four bytes to a machine. */
const wave = '🌊';

/** Bodies as text, since an object in code cannot have an own key `__proto__` by writing it down. */
const withText = (metadata: string): string =>
  JSON.stringify(ask('Hello')).replace(/}$/, `,"metadata":${metadata}}`);

describe('accepted metadata', () => {
  it.each<[string, string]>([
    ['null', 'null'],
    ['without keys', '{}'],
    ['with 16 keys', JSON.stringify(keys(16))],
    ['with a key of 64 letters', JSON.stringify({ ['k'.repeat(64)]: 'v' })],
    ['with a key of 64 emoji', JSON.stringify({ [wave.repeat(64)]: 'v' })],
    ['with a value of 512 letters', JSON.stringify({ key: 'v'.repeat(512) })],
    ['with a value of 512 emoji', JSON.stringify({ key: wave.repeat(512) })],
    ['with a value of 512 escaped emoji', `{"key":"${'\\ud83c\\udf0a'.repeat(512)}"}`],
    ['with an empty value', '{"key":""}'],
    ['with a key that twice is one', `{${'"key":"a",'.repeat(20)}"key":"b"}`],
    ['with the name of a prototype as a key', '{"__proto__":"a","constructor":"b","toString":"c"}'],
  ])('passes validation %s', async (_, metadata) => {
    const reply = await gateway.post(withText(metadata));
    await reply.text();
    expect(reply.status).toBe(200);
    expect(simulator.requests.at(-1)?.body).not.toHaveProperty('metadata');
  });
});

describe('refused metadata', () => {
  it.each<[string, string, RegExp]>([
    ['with 17 keys', JSON.stringify(keys(17)), /^metadata: .*at most 16 keys/],
    [
      'with 17 keys of which one is the name of a prototype',
      JSON.stringify(keys(16)).replace('{', '{"__proto__":"v",'),
      /^metadata: .*at most 16 keys/,
    ],
    ['with a key of 65 letters', JSON.stringify({ ['k'.repeat(65)]: 'v' }), /^metadata: .*64 characters/],
    ['with a key of 65 emoji', JSON.stringify({ [wave.repeat(65)]: 'v' }), /^metadata: .*64 characters/],
    ['with a value of 513 letters', JSON.stringify({ key: 'v'.repeat(513) }), /^metadata\.key: .*512/],
    ['with a value of 513 emoji', JSON.stringify({ key: wave.repeat(513) }), /^metadata\.key: .*512/],
    ['with a number', '{"key":5}', /^metadata\.key: must be a string/],
    ['with a boolean', '{"key":true}', /^metadata\.key: must be a string/],
    ['with null', '{"key":null}', /^metadata\.key: must be a string/],
    ['with an array', '{"key":["a"]}', /^metadata\.key: must be a string/],
    ['with an object', '{"a":"b","key":{"a":"b"}}', /^metadata\.key: must be a string/],
    [
      'with an object under the name of a prototype',
      '{"__proto__":{"a":"b"}}',
      /^metadata\.__proto__: must be a string/,
    ],
  ])('gets 400 %s', async (_, metadata, says) => {
    const { requests } = simulator.stats;
    const reply = await gateway.post(withText(metadata));
    const { error } = (await reply.json()) as { error: { message: string; type: string } };
    expect(reply.status).toBe(400);
    expect(error.type).toBe('invalid_request_error');
    expect(error.message).toMatch(says);
    expect(error.message.length).toBeLessThan(200);
    expect(simulator.stats.requests).toBe(requests);
  });
});

it('forwards metadata when configured to', async () => {
  const open = await startGateway({
    upstream: simulator,
    stages: ['auth', 'validation', { 'request-rewrite': { forward_metadata: true } }],
  });
  const reply = await open.post(ask('Hello', { metadata: { key: 'value' } }));
  await reply.text().finally(open.close);
  expect(simulator.requests.at(-1)?.body).toMatchObject({ metadata: { key: 'value' } });
});
