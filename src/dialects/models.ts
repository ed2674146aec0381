import { hash } from 'node:crypto';
import type { Model } from '../catalog/catalog.ts';

/** The public catalog, encoded once: the body of `GET /v1/models` and its strong entity tag (spec 2.1, 4.1). */
export interface EncodedCatalog {
  readonly body: string;
  readonly etag: string;
}

/** The public fields of a model, in the order of spec 2.1. Prices stay the strings they are in the configuration. */
function publicEntry(model: Model): Record<string, unknown> {
  const { name, description, date, context_length, max_completion_tokens, is_moderated, architecture } =
    model;
  const { prompt, completion, input_cache_read } = model.pricing;
  return {
    id: model.id,
    name,
    description,
    date,
    context_length,
    max_completion_tokens,
    is_moderated,
    architecture,
    pricing: { prompt, completion, ...(input_cache_read !== undefined && { input_cache_read }) },
    reasoning: model.reasoning,
    tool_calls: model.tool_calls,
    reasoning_effort: model.reasoning_effort,
  };
}

/** `data` with `object` and `created`, and the legacy `models` without them. */
export function encodeCatalog(models: readonly Model[]): EncodedCatalog {
  const entries = models.map(publicEntry);
  const data = entries.map(({ id, ...rest }) => ({
    id,
    object: 'model',
    created: Date.parse(`${rest.date}T00:00:00Z`) / 1000,
    ...rest,
  }));
  const body = JSON.stringify({ object: 'list', data, models: entries });
  return { body, etag: `"${hash('sha256', body, 'base64url').slice(0, 27)}"` };
}
