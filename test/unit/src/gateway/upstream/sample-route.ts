import { vllm } from '../../../../../plugins/providers/vllm/index.ts';
import { providerBaseSchema } from '../../../../../src/config/provider-schema.ts';
import { routingSchema } from '../../../../../src/config/routing-schema.ts';
import type { Failure } from '../../../../../src/gateway/upstream/attempt/attempt-failure.ts';
import { Provider } from '../../../../../src/gateway/upstream/http/provider.ts';
import {
  LoadBalancer,
  type UpstreamQuery,
} from '../../../../../src/gateway/upstream/routing/load-balancer.ts';
import { Upstream } from '../../../../../src/gateway/upstream/routing/upstream.ts';
import { createLog } from '../../../../../src/telemetry/log.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

const providers: Provider[] = [];

/** Ends the providers of all routes that were made. */
export async function closeRoutes(): Promise<void> {
  await Promise.all(providers.splice(0).map(provider => provider.close()));
}

export interface Given {
  readonly priority?: number;
  readonly weight?: number;
  /** Milliseconds until its quota is free again. */
  readonly free_in_ms?: number;
  /** Fields of its provider. */
  readonly provider?: object;
}

/** A route over upstreams named a, b, c, p3, p4 …, on a clock that the test moves. */
export function routeOver(given: readonly Given[], options: object = {}, random = () => 0) {
  const clock = new FakeClock();
  const upstreams = given.map(({ priority = 1, weight = 1, free_in_ms, provider: fields }, at) => {
    const config = providerBaseSchema.parse({ base_url: 'http://127.0.0.1:9/v1', ...fields });
    const surroundings = {
      clock,
      log: createLog('silent'),
      content: { capture_content: false, max_content_characters: 1 },
    };
    const provider = new Provider('abc'[at] ?? `p${at}`, vllm, config, {}, surroundings);
    providers.push(provider);
    const quota =
      free_in_ms === undefined ? undefined : { free_in_ms: () => free_in_ms, take: () => () => {} };
    const target = { model: 'm', effortMap: {}, extraParameters: [] };
    return new Upstream(provider, target, { priority, weight, quota });
  });
  const route = new LoadBalancer(upstreams, routingSchema.parse(options), clock, random);
  const ask = (more: Partial<UpstreamQuery> = {}) =>
    route.next({
      request: { stream: true, messages: [] },
      now_ms: clock.elapsed_ms(),
      failed: new Map(),
      affinity_key: undefined,
      ...more,
    });
  const [a, b, c] = upstreams as [Upstream, Upstream, Upstream];
  return { a, b, c, route, clock, ask };
}

/** Opens the circuit breaker of an upstream. */
export const open = ({ provider: { breaker } }: Upstream) => {
  for (let count = 0; count < 5; count++) breaker.failed(breaker.begin());
};

/** Takes one place at the provider of an upstream. */
export const fill = ({ provider: { bulkhead } }: Upstream) => bulkhead.acquire();

/** Lets an upstream ask to be left alone for a time. */
export const pause = (upstream: Upstream, retry_after_s: number, clock: FakeClock) => {
  const failure: Failure = { kind: 'rate_limited', retry_after_s, error: undefined as never };
  upstream.failed(true, failure, 0, clock.elapsed_ms());
};
