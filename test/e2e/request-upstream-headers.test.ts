import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ReceivedRequest, type Simulator, startSimulator } from '../../src/simulator/server.ts';
import {
  ask,
  clientKey,
  type GatewayUnderTest,
  startGateway,
  upstreamKey,
} from '../support/gateway-under-test.ts';

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

/** What the upstream received of a request that was answered 200. */
async function received(
  body: object | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<ReceivedRequest> {
  const reply = await gateway.post(body, { headers });
  const text = await reply.text();
  if (reply.status !== 200) throw new Error(`${reply.status} ${text}`);
  const last = simulator.requests.at(-1);
  if (!last) throw new Error('nothing was received');
  return last;
}

describe('a request sent upstream', () => {
  it("carries the provider's key and no header of the client's", async () => {
    const { headers, text } = await received(ask('Hello'), {
      authorization: `Api-Key ${clientKey}`,
      cookie: 'session=secret',
      'x-request-id': 'trace-7',
      'x-forwarded-for': '203.0.113.7',
      'x-custom': 'mine',
      'openai-organization': 'org',
      'user-agent': 'client/1',
      'idempotency-key': 'once',
      'accept-encoding': 'gzip',
    });
    expect(headers).toEqual({
      host: `127.0.0.1:${simulator.port}`,
      connection: expect.any(String),
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(text)),
      accept: 'application/json, text/event-stream',
      'accept-encoding': 'identity',
      'user-agent': 'sluice',
      authorization: `Bearer ${upstreamKey}`,
    });
  });

  it('carries no key when none is configured, and the configured headers', async () => {
    const keyless = await startGateway({
      upstream: simulator,
      provider: { api_key: undefined, headers: { 'X-Team': 'red' } },
    });
    const reply = await keyless.post(ask('Hello'));
    await reply.text().finally(keyless.close);
    expect(reply.status).toBe(200);
    const { headers } = simulator.requests.at(-1)!;
    expect(headers).not.toHaveProperty('authorization');
    expect(headers['x-team']).toBe('red');
    expect(JSON.stringify(headers)).not.toContain(clientKey);
  });

  it('goes to the configured path, whatever path the client used', async () => {
    const { path, method } = await received(ask('Hello'));
    expect({ path, method }).toEqual({ path: '/v1/chat/completions', method: 'POST' });
  });
});

it("never shows a client the upstream's key", async () => {
  const strict = await startSimulator({ api_key: 'sk-another-key-000000' });
  const wrong = await startGateway({ upstream: strict });
  const reply = await wrong.post(ask('Hello'));
  const text = await reply.text().finally(async () => {
    await wrong.close();
    await strict.close();
  });
  expect(reply.status).toBe(400);
  expect(JSON.parse(text).error.type).toBe('configuration_error');
  expect(text + JSON.stringify([...reply.headers])).not.toMatch(/sk-|Unauthorized|127\.0\.0\.1/);
});
