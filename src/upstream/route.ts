import type { Model } from '../catalog/catalog.ts';
import { refusal } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { Attempts } from './attempts.ts';
import type { Provider } from './provider.ts';
import { Upstream } from './upstream.ts';

/** Which providers serve which model, those of the lowest priority first. */
export class Router {
  readonly #upstreams = new Map<string, readonly Upstream[]>();
  readonly #metrics: Metrics;

  constructor(models: readonly Model[], providers: readonly Provider[], metrics: Metrics) {
    this.#metrics = metrics;
    const byName = new Map(providers.map(provider => [provider.name, provider]));
    for (const model of models) this.#upstreams.set(model.id, upstreamsOf(model, byName));
  }

  /** The attempts of `exchange`, at the providers of its model. */
  attempts(exchange: Exchange): Attempts {
    const upstreams = this.#upstreams.get(exchange.model?.id ?? '');
    if (!upstreams || upstreams.length === 0)
      throw refusal('provider_misconfigured', { cause: new Error('no provider for this model') });
    return new Attempts(exchange, upstreams, this.#metrics);
  }
}

function upstreamsOf(model: Model, providers: ReadonlyMap<string, Provider>): Upstream[] {
  const upstreams: Upstream[] = [];
  for (const configured of model.upstreams.toSorted((a, b) => a.priority - b.priority)) {
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
