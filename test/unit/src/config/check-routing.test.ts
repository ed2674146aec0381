import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../../../src/config/load.ts';
import { mistakesOf, sampleConfig, withModel } from './sample-config.ts';

const local = { provider: 'local', model: 'a' };
const withProvider = (fields: object) =>
  sampleConfig({ providers: { local: { ...sampleConfig().providers.local!, ...fields } } });
const served = (upstreams: object[], routing: object = {}) => withModel({ upstreams, routing });
const second = { ...local, model: 'b' };
const two = [local, second];

describe('an invalid routing option', () => {
  it.each<[object, string]>([
    [
      withProvider({ max_queue: 5 }),
      'max_queue: has no effect: without max_concurrent there are always places',
    ],
    [
      withProvider({ max_concurrent: 5, queue_timeout_ms: 10 }),
      'providers.local.queue_timeout_ms: has no effect: without max_queue no request waits',
    ],
    [
      withProvider({ first_token_timeout_ms: 500, total_timeout_ms: 500 }),
      'providers.local.first_token_timeout_ms: has no effect: total_timeout_ms is over after 500',
    ],
    [
      withProvider({ breaker: { consecutive_failures: 0, failure_ratio: 1, open_ms: 500 } }),
      'providers.local.breaker.open_ms: has no effect: the breaker never opens',
    ],
    [
      withProvider({ breaker: { failure_ratio: 1, window: 10 } }),
      'providers.local.breaker.window: has no effect: failure_ratio 1 looks at no window',
    ],
    [
      withProvider({ breaker: { open_ms: 500, max_open_ms: 400 } }),
      'providers.local.breaker.max_open_ms: must not be shorter than open_ms',
    ],
    [
      served([local, { ...second, priority: 2, weight: 3 }]),
      'has no effect: no other upstream has priority 2',
    ],
    [
      served([local, { ...second, weight: 0 }]),
      'upstreams[1].weight: must be above 0; leave an upstream out',
    ],
    [
      withModel({ fallbacks: { context_length: ['x/none'] } }),
      "models[0].fallbacks.context_length[0]: there is no model 'x/none'",
    ],
    [
      withModel({ fallbacks: { unavailable: [sampleConfig().models[0]!.id] } }),
      'models[0].fallbacks.unavailable[0]: is the model itself',
    ],
    [
      served([local], { strategy: 'lowest_latency' }),
      'models[0].routing.strategy: has no effect: the model has one upstream',
    ],
    [
      served(two, { strategy: 'lowest_cost' }),
      'models[0].routing.strategy: has no effect: no upstream has paid_prices',
    ],
    [
      served(two, { strategy: 'lowest_latency', sticky: 'conversation' }),
      'models[0].routing.strategy: has no effect: sticky keeps conversations',
    ],
    [
      served([local, { ...local, priority: 2 }]),
      'models[0].upstreams[1]: a at local is listed twice; use weight',
    ],
    [
      served([local], { sticky: 'conversation' }),
      'routing.sticky: has no effect: the model has one upstream',
    ],
    [served([local], { max_attempts: 2 }), 'routing.max_attempts: has no effect: the model has one upstream'],
    [served(two, { sticky_overload: 2 }), 'routing.sticky_overload: has no effect: sticky is none'],
    [
      served(two, { backoff_ms: 20 }),
      'models[0].routing.backoff_ms: has no effect: retries_per_upstream is 0',
    ],
    [
      sampleConfig({ routing: { max_attempts: 1, retries_per_upstream: 1 } }),
      'routing.retries_per_upstream: has no effect: max_attempts is 1',
    ],
    [
      withProvider({ health_check: { path: 'http://elsewhere/' } }),
      'providers.local.health_check.path: must be a path from the root of the server, such as /health',
    ],
  ])('is rejected (case %#)', async (config, mistake) => {
    const found = await mistakesOf(config as ReturnType<typeof sampleConfig>);
    expect(found).toEqual([expect.stringContaining(mistake)]);
  });
});

describe('a valid routing option', () => {
  it.each<[string, object]>([
    ['a queue beside a cap', withProvider({ max_concurrent: 5, max_queue: 5, queue_timeout_ms: 10 })],
    ['weights within one priority', served([local, { ...local, model: 'b', weight: 0.05 }])],
    [
      'retries of the only upstream',
      served([local], { max_attempts: 2, retries_per_upstream: 1, backoff_ms: 9 }),
    ],
    [
      'global options that only some models use',
      sampleConfig({ routing: { sticky: 'conversation', backoff_ms: 9 } }),
    ],
  ])('is accepted: %s', async (_, config) => {
    await expect(loadConfig(config as ReturnType<typeof sampleConfig>)).resolves.toBeDefined();
  });
});
