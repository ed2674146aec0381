import { decodePath } from '../../common/decode-path.ts';
import { picoUsd } from '../../common/money.ts';
import { queryOf } from '../../config/passthrough-path.ts';
import type { Model } from '../../gateway/catalog/catalog.ts';

/** The catalog's models by the names that calls to one provider have for them. */
export class ServedModels {
  /** The one whose price a call has if neither it nor its reply names a model; undefined if the provider serves none of the catalog. */
  readonly dearest: Model | undefined;
  readonly #named = new Map<string, Model>();
  readonly #written = new Map<string, Model>();

  /** Of all providers without one. */
  constructor(models: readonly Model[], provider?: string) {
    const served = (model: Model) =>
      model.upstreams.filter(upstream => provider === undefined || upstream.provider === provider);
    // The provider's own names first, since calls reach it as they are. Of several models with one, the first is it.
    const names = [
      ...models.flatMap(model => served(model).map(upstream => [upstream.model, model] as const)),
      ...models.map(model => [model.id, model] as const),
    ];
    for (const [name, model] of names) if (!this.#named.has(name)) this.#named.set(name, model);
    for (const [name, model] of names) {
      const written = plainName(name);
      if (!this.#written.has(written)) this.#written.set(written, model);
    }
    this.dearest = models
      .filter(model => served(model).length > 0)
      .reduce<Model | undefined>(
        (most, model) => (most && priceOf(most) >= priceOf(model) ? most : model),
        undefined,
      );
  }

  /** The model that the provider serves under this name, or that has this id; also as other ways of writing it, of which servers know many. */
  named(name: string): Model | undefined {
    return this.#named.get(name) ?? this.#written.get(plainName(name));
  }

  /** The model that a request target names, as `/v1/engines/NAME/embeddings`, `/v1/models/NAME:embed` and `?model=NAME` do. */
  inTarget(path: string, url: string): Model | undefined {
    const segments = path.split('/').map(decodePath);
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

/** What stands in a request target where servers look for a model's name, whatever the catalog has. */
export function nameInTarget(path: string, url: string): string | undefined {
  const segment = /\/(?:engines|deployments|models?)\/([^/:]+)/.exec(path)?.[1];
  if (segment !== undefined) return decodePath(segment);
  return (url.includes('model=') && new URLSearchParams(queryOf(url)).get('model')) || undefined;
}

/** A name without what servers let clients add to it: `models/` (Gemini), a date or `-latest` (OpenAI, Anthropic), a variant (OpenRouter). */
const plainName = (name: string): string =>
  name
    .trim()
    .toLowerCase()
    .replace(/^models\//, '')
    .replace(/:[\w-]*$/, '')
    .replace(/[-@](?:latest|20\d{6}|20\d\d-\d\d-\d\d)$/, '');

const priceOf = ({ pricing: { prompt, completion, request = '0' } }: Model): bigint =>
  picoUsd(prompt) + picoUsd(completion) + picoUsd(request);
