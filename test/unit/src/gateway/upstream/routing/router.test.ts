import { afterEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { routingSchema } from '../../../../../../src/config/routing-schema.ts';
import { GatewayError } from '../../../../../../src/gateway/exchange/errors.ts';
import { Router } from '../../../../../../src/gateway/upstream/routing/router.ts';
import { Metrics } from '../../../../../../src/telemetry/metrics.ts';
import { ThrottledLog } from '../../../../../../src/telemetry/throttled-log.ts';
import { sampleExchange, sampleModel } from '../../../../sample-exchange.ts';
import { closeRoutes, open, routeOver } from '../sample-route.ts';

afterEach(closeRoutes);

function setting(model: object = {}, routing: object = {}) {
  const { a, b, clock } = routeOver([{ provider: { extra_parameters: ['top_k'] } }, {}]);
  const upstream = (provider: string, priority: number) => ({
    provider,
    model: `${provider}-1`,
    priority,
    weight: 2,
  });
  const upstreams = [upstream('b', 2), upstream('a', 1), upstream('gone', 1)];
  const models = [
    sampleModel({ id: 'm/one', upstreams, ...model }),
    sampleModel({ id: 'm/none', upstreams: [upstream('gone', 1)] }),
  ];
  const router = new Router(
    {
      models,
      routing: routingSchema.parse(routing),
      server: { stream_commit_ms: 1000, non_stream_timeout_ms: 1000 },
    },
    [a.provider, b.provider],
    { clock, metrics: new Metrics(new Registry()), outages: new ThrottledLog(clock) },
  );
  const refusalFor = (id: string | undefined) => {
    const exchange = sampleExchange({ request: {}, start: { clock } });
    if (id !== undefined) exchange.model = sampleModel({ id });
    const attempts = () => router.attempts(exchange);
    return { exchange, attempts };
  };
  return { a, b, clock, router, refusalFor };
}

describe('the router', () => {
  it('lists the upstreams of a model by priority, without those of unknown providers', () => {
    const { router } = setting();
    expect(
      router.upstreamsOf('m/one').map(({ provider, priority, weight }) => [provider.name, priority, weight]),
    ).toEqual([
      ['a', 1, 2],
      ['b', 2, 2],
    ]);
    expect(router.upstreamsOf('m/none')).toEqual([]);
    expect(router.upstreamsOf('m/unknown')).toEqual([]);
  });

  it('gives each upstream its model, the cap, and the parameters that its provider accepts', () => {
    const { router } = setting({ max_completion_tokens: 77, starts_in_reasoning: true });
    expect(router.upstreamsOf('m/one').map(({ target }) => target)).toMatchObject([
      { model: 'a-1', extraParameters: ['top_k'], maxTokens: 77, startsInReasoning: true },
      { model: 'b-1', extraParameters: [], maxTokens: 77, startsInReasoning: true },
    ]);
    const [plain] = setting({ starts_in_reasoning: undefined }).router.upstreamsOf('m/one');
    expect(plain!.target.startsInReasoning).toBe(false);
  });

  it.each([undefined, 'm/none', 'm/unknown'])(
    'refuses a model without upstreams as misconfigured: %s',
    id => {
      const { attempts } = setting().refusalFor(id);
      expect(attempts).toThrow(GatewayError);
      expect(attempts).toThrow(expect.objectContaining({ code: 'provider_misconfigured' }));
    },
  );

  it('uses the global routing where the model has none of its own', async () => {
    const refuses = async (own: object) => {
      const { a, b, refusalFor } = setting({ routing: own }, { when_all_unavailable: 'refuse' });
      open(a);
      open(b);
      return refusalFor('m/one')
        .attempts()
        .reply()
        .catch((error: GatewayError) => error.headers['retry-after'] !== undefined);
    };
    expect(await refuses({ when_all_unavailable: undefined })).toBe(true);
    expect(await refuses({ when_all_unavailable: 'try', max_attempts: 1 })).toBe(false);
  });
});
