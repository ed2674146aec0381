import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI, { APIError } from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;
let openai: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator();
  gateway = await startGateway({ upstream: simulator, server: { non_stream_timeout_ms: 2000 } });
  openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});

afterAll(async () => {
  await gateway?.gateway.close(0);
  await gateway?.close();
  await simulator?.close();
});

const model = 'aion-labs/aion-3.5';
const create = (input: string, more: object = {}) => openai.responses.create({ model, input, ...more });

/** What was thrown. */
async function thrownBy(running: PromiseLike<unknown>): Promise<APIError> {
  try {
    await running;
  } catch (thrown) {
    if (thrown instanceof APIError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}

describe('an error instead of a response', () => {
  it.each([
    ['an unknown model', 'Hello', { model: 'nobody/knows' }, 400, 'invalid_request_error', /^400 model: /],
    ['an effort', 'Hello', { reasoning: { effort: 'medium' } }, 400, undefined, /^400 reasoning\.effort: /],
    ['the cap', 'Hello', { max_output_tokens: 40_000 }, 400, undefined, /^400 max_output_tokens: must be/],
    ['state', 'Hello', { previous_response_id: 'resp_1' }, 400, undefined, /^400 previous_response_id: /],
    ['the upstream', 'Hello [[sim:status=400]]', {}, 400, 'invalid_request_error', /^400 /],
    ['a broken upstream', 'Hello [[sim:status=500]]', {}, 502, 'provider_error', /^502 /],
  ])('has its status, type and message: %s', async (_, input, more, status, type, says) => {
    for (const stream of [false, true]) {
      const error = await thrownBy(create(input, { ...more, stream }));
      expect(error.status).toBe(status);
      expect(error.type).toBe(type ?? 'invalid_request_error');
      expect(error.message).toMatch(says);
      expect(error.requestID).toMatch(/^req_/);
    }
  });

  it('is 524 after the time limit and is not retried', async () => {
    const { requests, completed } = simulator.stats;
    const patient = openai.withOptions({ maxRetries: 2 });
    const input = 'Hello [[sim:ttft=4000 tokens=10 reasoning_tokens=5]]';
    const error = await thrownBy(patient.responses.create({ model, input }));
    expect(error.status).toBe(524);
    expect(error.type).toBe('timeout_error');
    expect(simulator.stats.requests).toBe(requests + 1);
    await until(() => simulator.stats.completed === completed + 1);
    const settled = { endpoint: 'responses', end_reason: 'time_limit', status: '524' };
    await until(async () => (await gateway.metric('sluice_requests_total', settled)) === 1);
  });
});

describe('an error after the start of a stream', () => {
  it.each([
    ['an error event', 'error=6', /returned an error/],
    ['a reset', 'reset=6', /closed the stream unexpectedly/],
    ['an end without finish_reason', 'truncate=6', /closed the stream unexpectedly/],
    ['an event that is not JSON', 'garbage=6', /invalid response/],
  ])('is thrown with its message and type: %s', async (_, fault, says) => {
    const input = `Hello [[sim:${fault} reasoning_tokens=2]]`;
    const events: ResponseStreamEvent[] = [];
    const error = await thrownBy(
      (async () => {
        for await (const event of await openai.responses.create({ model, input, stream: true }))
          events.push(event);
      })(),
    );
    expect(events.at(-1)?.type).toBe('response.output_text.delta');
    expect(error.constructor).toBe(APIError);
    expect(error.status).toBeUndefined();
    expect(error.type).toBe('provider_error');
    expect(error.message).toMatch(says);

    const helped = await thrownBy(openai.responses.stream({ model, input }).finalResponse());
    expect(helped.type).toBe('provider_error');
    expect(helped.message).toMatch(says);
  });
});

describe('a stream that its client leaves', () => {
  it('is aborted upstream, and what was sent is billed', async () => {
    const { aborted } = simulator.stats;
    const endless = 'Hello [[sim:tokens=endless tps=100 chunk=1]]';
    let seen = 0;
    for await (const _ of await openai.responses.create({ model, input: endless, stream: true }))
      if (++seen === 20) break;
    await until(() => simulator.stats.aborted === aborted + 1);
    expect(simulator.stats.open).toBe(0);
    const left = { endpoint: 'responses', end_reason: 'client_gone' };
    await until(async () => (await gateway.metric('sluice_requests_total', left)) === 1);
  });
});
