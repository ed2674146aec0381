import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../../../src/config/load.ts';
import { mistakesOf, sampleConfig, withModel } from './sample-config.ts';

const local = { provider: 'local', model: 'a' };
const withProvider = (fields: object) =>
  sampleConfig({ providers: { local: { ...sampleConfig().providers.local!, ...fields } } });
const served = (upstreams: object[], routing: object = {}) => withModel({ upstreams, routing });
const two = [local, { ...local, model: 'b' }];

describe('an invalid routing option', () => {
  it.each<[string, object, string[]]>([
    [
      'a queue without a cap',
      withProvider({ max_queue: 5 }),
      ['providers.local.max_queue: has no effect: without max_concurrent there are always places'],
    ],
    [
      'a queue timeout without a queue',
      withProvider({ max_concurrent: 5, queue_timeout_ms: 10 }),
      ['providers.local.queue_timeout_ms: has no effect: without max_queue no request waits'],
    ],
    [
      'a first-token timeout not below the total timeout',
      withProvider({ first_token_timeout_ms: 500, total_timeout_ms: 500 }),
      ['providers.local.first_token_timeout_ms: has no effect: total_timeout_ms is over after 500'],
    ],
    [
      'an option of a breaker that never opens',
      withProvider({ breaker: { consecutive_failures: 0, failure_ratio: 1, open_ms: 500 } }),
      ['providers.local.breaker.open_ms: has no effect: the breaker never opens'],
    ],
    [
      'a window without a failure ratio',
      withProvider({ breaker: { failure_ratio: 1, window: 10 } }),
      ['providers.local.breaker.window: has no effect: failure_ratio 1 looks at no window'],
    ],
    [
      'a maximum open time below the first',
      withProvider({ breaker: { open_ms: 500, max_open_ms: 400 } }),
      ['providers.local.breaker.max_open_ms: must not be shorter than open_ms'],
    ],
    [
      'a weight without other upstreams of its priority',
      served([local, { ...local, model: 'b', priority: 2, weight: 3 }]),
      ['models[0].upstreams[1].weight: has no effect: no other upstream has priority 2'],
    ],
    [
      'a weight of 0',
      served([local, { ...local, model: 'b', weight: 0 }]),
      ['models[0].upstreams[1].weight: must be above 0; leave an upstream out that is to get nothing'],
    ],
    [
      'an upstream listed twice',
      served([local, { ...local, priority: 2 }]),
      ['models[0].upstreams[1]: a at local is listed twice; use weight for a larger share'],
    ],
    [
      'sticky conversations with a single upstream',
      served([local], { sticky: 'conversation' }),
      ['models[0].routing.sticky: has no effect: the model has one upstream'],
    ],
    [
      'several attempts with a single upstream',
      served([local], { max_attempts: 2 }),
      ['models[0].routing.max_attempts: has no effect: the model has one upstream'],
    ],
    [
      'a sticky overload without sticky conversations',
      served(two, { sticky_overload: 2 }),
      ['models[0].routing.sticky_overload: has no effect: sticky is none'],
    ],
    [
      'a backoff without retries of the same upstream',
      served(two, { backoff_ms: 20 }),
      [
        'models[0].routing.backoff_ms: has no effect: retries_per_upstream is 0, and other upstreams are asked at once',
      ],
    ],
    [
      'retries with a single attempt',
      sampleConfig({ routing: { max_attempts: 1, retries_per_upstream: 1 } }),
      ['routing.retries_per_upstream: has no effect: max_attempts is 1'],
    ],
    [
      'an invalid health check path',
      withProvider({ health_check: { path: 'http://elsewhere/' } }),
      ['providers.local.health_check.path: must be a path from the root of the server, such as /health'],
    ],
  ])('is rejected: %s', async (_, config, mistakes) => {
    expect(await mistakesOf(config as ReturnType<typeof sampleConfig>)).toEqual(mistakes);
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
