import type { Model } from '../catalog/catalog.ts';
import { refusal } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Target } from './adapter.ts';
import { Attempt } from './attempt.ts';
import type { Provider } from './provider.ts';

interface Destination {
  readonly provider: Provider;
  readonly target: Target;
}

/** Which provider serves which model. A model has one upstream in use: the first of the lowest priority. */
export class Router {
  readonly #destinations = new Map<string, Destination>();
  readonly #metrics: Metrics;

  constructor(models: readonly Model[], providers: readonly Provider[], metrics: Metrics) {
    this.#metrics = metrics;
    for (const model of models) {
      const upstream = model.upstreams.toSorted((a, b) => a.priority - b.priority)[0]!;
      const provider = providers.find(({ name }) => name === upstream.provider);
      if (!provider) continue;
      const extraParameters = provider.config.extra_parameters;
      this.#destinations.set(model.id, {
        provider,
        target: {
          model: upstream.model,
          effortMap: model.effort_map,
          extraParameters,
          maxTokens: model.max_completion_tokens,
        },
      });
    }
  }

  /** An attempt at the provider of the exchange's model. */
  attempt(exchange: Exchange): Attempt {
    const destination = this.#destinations.get(exchange.model?.id ?? '');
    if (!destination)
      throw refusal('provider_misconfigured', { cause: new Error('no provider for this model') });
    return new Attempt(exchange, destination.provider, destination.target, this.#metrics);
  }
}
