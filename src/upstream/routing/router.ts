import type { Model } from '../../catalog/catalog.ts';
import type { RoutingOptions } from '../../catalog/routing-schema.ts';
import type { Clock } from '../../clock.ts';
import { refusal } from '../../errors.ts';
import type { Exchange } from '../../exchange.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { Attempts } from '../attempt/attempts.ts';
import type { Provider } from '../http/provider.ts';
import { LoadBalancer } from './load-balancer.ts';
import { Upstream } from './upstream.ts';

/** What routes are made of beside providers. */
export interface RouterSettings {
  readonly models: readonly Model[];
  readonly routing: RoutingOptions;
  readonly server: WaitLimits;
}

/** How long a client may wait for anything to happen. */
export interface WaitLimits {
  readonly stream_commit_ms: number;
  readonly non_stream_timeout_ms: number;
}

/** What every exchange's attempts share. */
export interface RouterSetup {
  readonly metrics: Metrics;
  readonly limits: WaitLimits;
}

/** Which providers serve which model. */
export class Router {
  readonly #routes = new Map<string, LoadBalancer>();
  readonly #setup: RouterSetup;

  constructor(
    { models, routing, server }: RouterSettings,
    providers: readonly Provider[],
    { clock, metrics }: { clock: Clock; metrics: Metrics },
  ) {
    this.#setup = { metrics, limits: server };
    const byName = new Map(providers.map(provider => [provider.name, provider]));
    for (const model of models) {
      const upstreams = upstreamsOf(model, byName);
      if (upstreams.length === 0) continue;
      this.#routes.set(model.id, new LoadBalancer(upstreams, { ...routing, ...given(model.routing) }, clock));
    }
  }

  /** Who serves the model of this id, first priority first; nobody for one that is not there. */
  upstreamsOf(id: string): readonly Upstream[] {
    return this.#routes.get(id)?.upstreams ?? [];
  }

  /** The attempts of `exchange`, at the providers of its model. */
  attempts(exchange: Exchange): Attempts {
    const route = this.#routes.get(exchange.model?.id ?? '');
    if (!route) throw refusal('provider_misconfigured', { cause: new Error('no provider for this model') });
    return new Attempts(exchange, route, this.#setup);
  }
}

function upstreamsOf(model: Model, providers: ReadonlyMap<string, Provider>): Upstream[] {
  const upstreams: Upstream[] = [];
  for (const configured of model.upstreams) {
    const provider = providers.get(configured.provider);
    if (!provider) continue;
    const target = {
      model: configured.model,
      effortMap: model.effort_map,
      extraParameters: provider.config.extra_parameters,
      maxTokens: model.max_completion_tokens,
      startsInReasoning: model.starts_in_reasoning === true,
    };
    upstreams.push(new Upstream(provider, target, configured));
  }
  return upstreams;
}

/** What a model says of its routing; an absent field must not hide the one for all. */
const given = (routing: Model['routing']): Partial<RoutingOptions> =>
  Object.fromEntries(Object.entries(routing).filter(([, value]) => value !== undefined));
