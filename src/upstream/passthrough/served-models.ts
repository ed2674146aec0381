import type { Model } from '../../catalog/catalog.ts';
import { picoUsd } from '../../money.ts';
import { queryOf } from './passthrough-path.ts';

/** The catalog's models by the names that calls to one provider have for them. */
export class ServedModels {
  /** The one that a call costs if neither it nor its reply names a model; undefined if the provider serves none of the catalog. */
  readonly dearest: Model | undefined;
  readonly #named = new Map<string, Model>();

  constructor(models: readonly Model[], provider: string) {
    const served = (model: Model) => model.upstreams.filter(upstream => upstream.provider === provider);
    for (const model of models) this.#named.set(model.id, model);
    for (const model of models)
      for (const upstream of served(model))
        if (!this.#named.has(upstream.model)) this.#named.set(upstream.model, model);
    this.dearest = models
      .filter(model => served(model).length > 0)
      .reduce<Model | undefined>(
        (most, model) => (most && priceOf(most) >= priceOf(model) ? most : model),
        undefined,
      );
  }

  /** The model with this id, or that the provider serves under this name. */
  named(name: string): Model | undefined {
    return this.#named.get(name);
  }

  /** The model that a request target names, as `/v1/engines/NAME/embeddings`, `/v1/models/NAME:embed` and `?model=NAME` do. */
  inTarget(path: string, url: string): Model | undefined {
    const segments = path.split('/').map(decoded);
    for (const [at, segment] of segments.entries()) {
      // An id of the catalog has a slash.
      for (const name of [`${segments[at - 1]}/${segment}`, segment]) {
        const model = this.named(name) ?? this.named(name.slice(0, name.lastIndexOf(':')));
        if (model) return model;
      }
    }
    const name = url.includes('model=') && new URLSearchParams(queryOf(url)).get('model');
    return name ? this.named(name) : undefined;
  }
}

const priceOf = ({ pricing }: Model): bigint => picoUsd(pricing.prompt) + picoUsd(pricing.completion);

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
