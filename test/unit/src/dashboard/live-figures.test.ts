import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { liveFigures } from '../../../../src/dashboard/live-figures.ts';
import { Metrics } from '../../../../src/telemetry/metrics.ts';

const model = (id: string) => ({
  endpoint: { name: 'chat.completions', public: false },
  model: { id },
  trace_id: undefined,
});
const end = (error_type: string | undefined, first_token_ms: number | undefined) => ({
  end_reason: 'completed',
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

it('sums the counters of all models, and sorts errors by count', async () => {
  const registry = new Registry();
  const metrics = new Metrics(registry);
  metrics.settled(model('a/one'), end(undefined, 90));
  metrics.settled(model('a/two'), end(undefined, 100));
  metrics.settled(model('a/one'), end('server_error', 200_000));
  for (const id of ['a/one', 'a/two']) metrics.settled(model(id), end('provider_error', undefined));
  const { first_tokens, ...figures } = await liveFigures(registry);
  expect(figures).toEqual({
    requests: 5,
    errors: { provider_error: 2, server_error: 1 },
    tokens: 60,
  });
  expect(Object.keys(figures.errors)).toEqual(['provider_error', 'server_error']);
  expect(first_tokens.map(({ within_s }) => within_s)).toEqual([
    0.001,
    0.005,
    0.01,
    0.02,
    0.04,
    0.06,
    0.08,
    0.1,
    0.25,
    0.5,
    0.75,
    1,
    2.5,
    5,
    7.5,
    10,
    30,
    60,
    120,
    null,
  ]);
  expect(first_tokens.filter(({ within_s }) => within_s === 0.08 || within_s === 0.1)).toEqual([
    { within_s: 0.08, count: 0 },
    { within_s: 0.1, count: 2 },
  ]);
  expect(first_tokens.at(-2)).toEqual({ within_s: 120, count: 2 });
  expect(first_tokens.at(-1)).toEqual({ within_s: null, count: 3 });
});

it('returns zeros where nothing was counted', async () => {
  expect(await liveFigures(new Registry())).toEqual({ requests: 0, errors: {}, tokens: 0, first_tokens: [] });
});
