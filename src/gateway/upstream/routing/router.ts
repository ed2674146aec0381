import type { Clock } from '../../../common/clock.ts';
import type { RoutingConfig } from '../../../common/options.ts';
import type { Model } from '../../catalog/catalog.ts';
import { refusal } from '../../exchange/errors.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { Attempts, type Fallback } from '../attempt/attempts.ts';
import type { Provider } from '../http/provider.ts';
import { LoadBalancer, type RoutingStrategy } from './load-balancer.ts';
import type { RetryBudget } from './retry-budget.ts';
import { Upstream, type UpstreamControl, type UpstreamQuota } from './upstream.ts';
import type { RouterSetup, WaitLimits } from './upstream-selector.ts';

interface RouterParts {
  readonly clock: Clock;
  /** The quota of an upstream that has limits. */
  readonly quotaOf?: (upstream: Model['upstreams'][number]) => UpstreamQuota | undefined;
  /** How a model's upstreams are chosen, if not by weight. */
  readonly strategyOf?: (options: RoutingConfig) => RoutingStrategy | undefined;
}

/** The load balancer of every model; it goes on with what `before` knows of upstreams that stay. */
export class Router {
  readonly #balancers = new Map<string, LoadBalancer>();
  readonly #setup: RouterSetup;

  constructor(
    { models, routing, server }: { models: readonly Model[]; routing: RoutingConfig; server: WaitLimits },
    providers: readonly Provider[],
    { clock, metrics, outages, quotaOf, strategyOf }: Pick<RouterSetup, 'metrics' | 'outages'> & RouterParts,
    before?: Router,
  ) {
    this.#setup = { metrics, outages, limits: server };
    const byName = new Map(providers.map(provider => [provider.name, provider]));
    for (const model of models) {
      const upstreams = upstreamsOf(model, byName, before?.upstreamsOf(model.id) ?? [], quotaOf);
      if (upstreams.length === 0) continue;
      const options = { ...routing, ...defined(model.routing) };
      const budget = before ? before.#budgetOf(model.id, options) : undefined;
      this.#balancers.set(
        model.id,
        new LoadBalancer(upstreams, options, clock, undefined, budget, strategyOf?.(options)),
      );
    }
  }

  /** The upstreams of a model, first priority first; none for an unknown one. */
  upstreamsOf(id: string): readonly Upstream[] {
    return this.#balancers.get(id)?.upstreams ?? [];
  }

  /** Follows the controls of operators, in place of those before. */
  control(controls: ReadonlyMap<string, UpstreamControl>): void {
    for (const balancer of this.#balancers.values()) balancer.control(controls);
  }

  /** The retry budget of a model, if it has these options. */
  #budgetOf(id: string, { retry_ratio, min_retries_per_second }: RoutingConfig): RetryBudget | undefined {
    const { options, budget } = this.#balancers.get(id) ?? {};
    const isSame =
      options?.retry_ratio === retry_ratio && options.min_retries_per_second === min_retries_per_second;
    return isSame ? budget : undefined;
  }

  /** The load balancer of a model. Throws a GatewayError if none of its providers is there. */
  balancerOf(id = ''): LoadBalancer {
    const balancer = this.#balancers.get(id);
    if (balancer) return balancer;
    throw refusal('provider_misconfigured', { cause: new Error('no provider for this model') });
  }

  /** The attempts of `exchange`, at the providers of its model, or of those that take its place. */
  attempts(exchange: Exchange, fallback?: Fallback): Attempts {
    return new Attempts(exchange, this.balancerOf(exchange.model?.id), this.#setup, fallback);
  }
}

function upstreamsOf(
  model: Model,
  providers: ReadonlyMap<string, Provider>,
  before: readonly Upstream[],
  quotaOf: RouterParts['quotaOf'],
): Upstream[] {
  return model.upstreams.flatMap(configured => {
    const provider = providers.get(configured.provider);
    if (!provider) return [];
    const target = {
      model: configured.model,
      effortMap: model.effort_map,
      extraParameters: provider.config.extra_parameters,
      maxTokens: model.max_completion_tokens,
      startsInReasoning: model.starts_in_reasoning === true,
    };
    const known = before.find(
      one => one.target.model === target.model && one.provider.isSameServer(provider),
    );
    return [new Upstream(provider, target, { ...configured, quota: quotaOf?.(configured) }, known)];
  });
}

/** `routing` without undefined fields, which would override the settings for all models. */
const defined = (routing: Model['routing']): Partial<RoutingConfig> =>
  Object.fromEntries(Object.entries(routing).filter(([, value]) => value !== undefined));
