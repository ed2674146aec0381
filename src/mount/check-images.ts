import type { ConfigIssue } from '../common/config-error.ts';
import { type Model, takesImages } from '../gateway/catalog/catalog.ts';
import type { Provider } from '../gateway/upstream/http/provider.ts';

/** Reports upstreams of models that take images whose adapter cannot send any: whether a request is answered would depend on the upstream. */
export function* checkImageUpstreams(
  models: readonly Model[],
  providers: readonly (Provider | undefined)[],
): Generator<ConfigIssue> {
  const blind = new Set(
    providers.flatMap(one => (one && !one.adapter.messageFields?.has('image_url') ? one.name : [])),
  );
  for (const [at, model] of models.entries()) {
    if (!takesImages(model)) continue;
    for (const [place, { provider }] of model.upstreams.entries()) {
      if (!blind.has(provider)) continue;
      const message = `cannot be sent images, which ${model.id} takes by its modality: the adapter of ${provider} has no image_url in messageFields`;
      yield { path: ['models', at, 'upstreams', place], message };
    }
  }
}
