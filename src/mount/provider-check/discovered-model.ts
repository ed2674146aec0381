import { asObject, isObject, type Json } from '../../common/json-object.ts';
import { isPrintable } from '../../common/printable.ts';

/** A model as a server reports it; what it does not report is undefined. */
export type DiscoveredModel = ReturnType<typeof seenModel>;

/** The first of `values` that is a whole number of tokens. */
const tokens = (...values: unknown[]): number | undefined =>
  values.find((value): value is number => Number.isSafeInteger(value) && (value as number) > 0);

/** A price as the catalog writes it, whichever way the server wrote it; never a number with an exponent. */
function price(value: unknown): string | undefined {
  const text = typeof value === 'number' ? value.toFixed(12).replace(/\.?0+$/, '') : value;
  return typeof text === 'string' && /^\d+(\.\d+)?$/.test(text) ? text : undefined;
}

/**
 * The models in an answer of `GET /models`, in any of the forms that servers give it: OpenAI's list, and the fields that vLLM, SGLang,
 * llama.cpp, OpenRouter and Anthropic add to it, each name once. Throws when it is no list of models.
 */
export function discoveredModels(body: unknown): DiscoveredModel[] {
  const list = isObject(body) ? (Array.isArray(body.data) ? body.data : body.models) : body;
  if (!Array.isArray(list)) throw new Error('the answer has no list of models');
  const models = new Map<string, DiscoveredModel>();
  for (const entry of list.filter(isObject)) {
    const id = nameOf(entry.id) ?? nameOf(entry.name);
    if (id !== undefined && !models.has(id)) models.set(id, seenModel(id, entry));
  }
  return [...models.values()];
}

const max_name_characters = 512;

/** `value` if it can be a name. */
const nameOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= max_name_characters && isPrintable(value)
    ? value
    : undefined;

/** `id` is the model's name at the server. */
function seenModel(id: string, entry: Json) {
  const [meta, top, pricing] = [asObject(entry.meta), asObject(entry.top_provider), asObject(entry.pricing)];
  const parameters = Array.isArray(entry.supported_parameters) ? entry.supported_parameters : undefined;
  return {
    id,
    name: nameOf(entry.name) ?? nameOf(entry.display_name),
    date: dateOf(entry.created_at) ?? dateOf(entry.created),
    context_length: tokens(
      entry.max_model_len,
      entry.context_length,
      entry.context_window,
      entry.max_input_tokens,
      meta.n_ctx,
      meta.n_ctx_train,
    ),
    max_completion_tokens: tokens(
      top.max_completion_tokens,
      entry.max_completion_tokens,
      entry.max_output_tokens,
      entry.max_tokens,
    ),
    pricing: {
      prompt: price(pricing.prompt),
      completion: price(pricing.completion),
      input_cache_read: price(pricing.input_cache_read),
    },
    reasoning: parameters?.includes('reasoning'),
    tool_calls: parameters?.includes('tools'),
  };
}

/** YYYY-MM-DD. Self-hosted servers report when they were started, which is no release date: only days before today are taken. */
function dateOf(value: unknown): string | undefined {
  const at =
    typeof value === 'number'
      ? new Date(value * 1000)
      : new Date(typeof value === 'string' ? value : Number.NaN);
  if (Number.isNaN(at.getTime()) || at.getTime() < Date.UTC(2018, 0)) return undefined;
  const day = at.toISOString().slice(0, 10);
  return day < new Date().toISOString().slice(0, 10) ? day : undefined;
}
