import type { ConfigIssue } from '../common/config-error.ts';
import { type Model, takesImages } from '../gateway/catalog/catalog.ts';
import type { Adapter } from '../gateway/upstream/adapter.ts';
import type { Provider } from '../gateway/upstream/http/provider.ts';

/** Reports upstreams whose adapter cannot send what their model takes: whether a request is answered would depend on the upstream. */
export function* checkUpstreams(
  models: readonly Model[],
  providers: readonly (Provider | undefined)[],
): Generator<ConfigIssue> {
  const adapters = new Map(providers.map(one => [one?.name, one?.adapter]));
  for (const [at, model] of models.entries())
    for (const [place, { provider }] of model.upstreams.entries()) {
      const path = ['models', at, 'upstreams', place];
      const adapter = adapters.get(provider);
      for (const [what, why] of adapter ? lacksOf(model, adapter) : [])
        yield { path, message: `cannot be sent ${what}: the adapter of ${provider} has ${why}` };
    }
}

/** What every server has, or is passed through. */
const plain: readonly string[] = ['chat', 'passthrough'];

/** What `model` takes that the adapter cannot send, and what the adapter lacks for it. */
function lacksOf(model: Model, { messageFields, operations = {} }: Adapter): [what: string, why: string][] {
  const lacks: [string, string][] = [];
  if (takesImages(model) && !messageFields?.has('image_url'))
    lacks.push([`images, which ${model.id} takes by its modality`, 'no image_url in messageFields']);
  for (const name of model.operations ?? [])
    if (!plain.includes(name) && !Object.hasOwn(operations, name))
      lacks.push([
        `requests for ${name}, which ${model.id} serves by its operations`,
        `no ${name} in operations`,
      ]);
  return lacks;
}
