import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest | undefined;

beforeAll(async () => {
  simulator = await startSimulator({ api_key: null, tokens_per_second: 200 });
});
afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
});
afterAll(() => simulator.close());

/** One stream, one whole reply, one refusal; the metrics after them. */
async function measured(config: object = {}): Promise<GatewayUnderTest> {
  const started = await startGateway({ upstream: simulator.url, config });
  gateway = started;
  await started.stream(ask('Hello [[sim:tokens=20]]'));
  await (await started.post(ask('Hello'))).text();
  await (await started.post(ask('Hello', { model: 'vendor/made-up-by-a-client' }))).text();
  await until(async () => (await started.metric('sluice_requests_total')) === 3);
  return started;
}

const model = { gen_ai_request_model: 'aion-labs/aion-3.5' };
const provider = { ...model, gen_ai_provider_name: 'vllm', sluice_provider: 'upstream' };

describe('the metrics of exchanges', () => {
  it('describe the gateway as server and as client under the names of the GenAI conventions', async () => {
    const { metric } = await measured();
    expect(await metric('gen_ai_server_request_duration_seconds_count', model)).toBe(2);
    expect(await metric('gen_ai_server_time_to_first_token_seconds_count', model)).toBe(1);
    expect(await metric('gen_ai_server_time_per_output_token_seconds_count', model)).toBe(1);
    expect(await metric('gen_ai_client_operation_duration_seconds_count', provider)).toBe(2);
    expect(await metric('gen_ai_client_operation_time_to_first_chunk_seconds_count', provider)).toBe(1);
    expect(
      await metric('gen_ai_client_operation_time_per_output_chunk_seconds_count', provider),
    ).toBeGreaterThan(5);
    for (const kind of ['input', 'output']) {
      const labels = { ...provider, gen_ai_token_type: kind };
      expect(await metric('gen_ai_client_token_usage_count', labels)).toBe(2);
      expect(await metric('gen_ai_client_token_usage_sum', labels)).toBe(
        await metric('sluice_tokens_total', { ...model, kind }),
      );
    }
  });

  it('create no series from values that clients invent', async () => {
    const { metrics } = await measured();
    expect(await metrics()).not.toContain('made-up');
  });

  it('say when the configuration was accepted, and how much memory the process may use', async () => {
    const before_s = Date.now() / 1000;
    const { metric } = await measured();
    const loaded_s = await metric('sluice_config_loaded_timestamp_seconds');
    expect(loaded_s).toBeGreaterThanOrEqual(before_s);
    expect(loaded_s).toBeLessThanOrEqual(Date.now() / 1000);
    expect(await metric('sluice_memory_limit_bytes')).toBeGreaterThan(process.memoryUsage().rss);
    expect(await metric('sluice_heap_limit_bytes')).toBeGreaterThan(process.memoryUsage().heapUsed);
  });

  it('include accounts only when that is enabled', async () => {
    expect(await (await measured()).metrics()).not.toContain('sluice_account');
    await gateway?.close();
    const { metric } = await measured({ metrics: { account_label: true } });
    const account = { account: 'tester' };
    expect(await metric('sluice_account_requests_total', account)).toBe(3);
    expect(await metric('sluice_account_tokens_total', account)).toBeGreaterThan(20);
    expect(await metric('sluice_account_cost_usd_total', account)).toBeCloseTo(
      await metric('sluice_cost_usd_total'),
      12,
    );
  });
});
