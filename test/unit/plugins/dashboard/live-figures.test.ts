import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { LiveRates, liveFigures } from '../../../../plugins/dashboard/live-figures.ts';
import { Metrics } from '../../../../src/telemetry/metrics.ts';

const model = (id: string) => ({
  endpoint: { name: 'chat.completions', public: false },
  model: { id },
  trace_id: undefined,
});
const end = (
  error_type: string | undefined,
  first_token_ms: number | undefined,
  end_reason = 'completed',
) => ({
  end_reason,
  status: 200,
  error_type,
  account: undefined,
  provider: 'a',
  usage: {
    prompt_tokens: 7,
    completion_tokens: 5,
    cached_tokens: 3,
    completion_details: { reasoning_tokens: 2 },
    estimated: false,
  },
  cost_usd: '0',
  timings: { duration_ms: 2000, first_token_ms },
});

it('sums the counters of all models, and counts no refusals and no errors of clients as failures', async () => {
  const registry = new Registry();
  const metrics = new Metrics(registry);
  metrics.settled(model('a/one'), end(undefined, 90));
  metrics.settled(model('a/two'), end(undefined, 100));
  metrics.settled(model('a/one'), end('server_error', 200_000));
  for (const id of ['a/one', 'a/two'])
    metrics.settled(model(id), end('provider_error', undefined, 'upstream_failed'));
  for (const type of ['rate_limit_error', 'invalid_request_error'])
    metrics.settled(model('a/one'), end(type, undefined, 'refused'));
  expect(await liveFigures(registry)).toEqual({
    requests: 7,
    failures: 3,
    tokens: 84,
  });
});

it('returns zeros where nothing was counted', async () => {
  expect(await liveFigures(new Registry())).toEqual({
    requests: 0,
    failures: 0,
    tokens: 0,
  });
});

it('tells rates of the last seconds, and none before there are two counts', async () => {
  const registry = new Registry();
  const metrics = new Metrics(registry);
  let now_ms = 0;
  const context = {
    server: { registry: async () => registry, all: async () => ({ in_flight: 3 }) },
    clock: { elapsed_ms: () => now_ms },
  };
  const rates = new LiveRates();
  const line = async () => (await rates.html(context as never)).text.replaceAll(/<.*>/g, '').trim();
  expect(await line()).toBe('3 in flight, – requests/s, – failed/s, – tokens/s');
  for (let at = 0; at < 6; at++) metrics.settled(model('a/one'), end(undefined, 90));
  now_ms = 4000;
  expect(await line()).toBe('3 in flight, 1.5 requests/s, 0.0 failed/s, 18.0 tokens/s');
  now_ms = 60_000;
  expect(await line()).toBe('3 in flight, – requests/s, – failed/s, – tokens/s');
});
