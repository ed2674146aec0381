import type { Model } from './catalog.ts';

/** The public fields of a model, in the order in which they are listed. */
export function publicModelFields(model: Model): Record<string, unknown> {
  const { name, description, date, context_length, max_completion_tokens, is_moderated, architecture } =
    model;
  const { input_cache_write: _, ...pricing } = model.pricing;
  return {
    id: model.id,
    name,
    description,
    date,
    context_length,
    max_completion_tokens,
    is_moderated,
    architecture,
    pricing,
    reasoning: model.reasoning,
    tool_calls: model.tool_calls,
    reasoning_effort: model.reasoning_effort,
    ...(model.operations && { operations: model.operations }),
  };
}

/** A model's entry under `data`; in the legacy list `models` it has no `object` and `created`. */
export function catalogEntry(model: Model): Record<string, unknown> {
  const { id, ...rest } = publicModelFields(model);
  return { id, object: 'model', created: Date.parse(`${model.date}T00:00:00Z`) / 1000, ...rest };
}
