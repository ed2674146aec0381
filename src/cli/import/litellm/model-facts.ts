import type { ModelFacts } from '../catalog-entry.ts';
import type { FieldRule } from '../fields.ts';
import type { Deployment } from './deployment.ts';
import type { KnownModels } from './known-models.ts';

/** Operations by the `mode` of a model. */
const operations: Readonly<Record<string, string>> = {
  embedding: 'embeddings',
  completion: 'text_completion',
  rerank: 'rerank',
};

/** Paths that are passed through, by the `mode` of a model. */
const paths: Readonly<Record<string, readonly string[]>> = {
  image_generation: ['/v1/images/generations'],
  audio_transcription: ['/v1/audio/transcriptions'],
  audio_speech: ['/v1/audio/speech'],
  moderation: ['/v1/moderations'],
};

/** What a model is for, where its entry does not say it: LiteLLM knows it by the name. */
const modes: readonly (readonly [RegExp, string])[] = [
  [/embed|(?:^|\/)bge-|e5-mistral|minilm/i, 'embedding'],
  [/rerank/i, 'rerank'],
  [/dall-e|gpt-image|stable-diffusion|flux/i, 'image_generation'],
  [/whisper|transcribe/i, 'audio_transcription'],
  [/(?:^|\/)tts-|-tts$/i, 'audio_speech'],
  [/moderation/i, 'moderation'],
];

/** The mode of a deployment. */
export function modeOf({ info, model }: Deployment): string {
  const given = info.value('mode');
  if (typeof given === 'string' && (given in operations || given in paths)) return given;
  return given === undefined ? (modes.find(([pattern]) => pattern.test(model))?.[1] ?? 'chat') : 'chat';
}

/** The paths that a model of this mode is asked at, beside those of the catalog. */
export const pathsOf = (mode: string): readonly string[] => paths[mode] ?? [];

/** What LiteLLM knows of a model: by its entry, in which prices may stand in either part, or else by its list of prices. */
export function factsOf(deployment: Deployment, known: KnownModels): ModelFacts {
  const { info, params } = deployment;
  const listed = known.find(deployment);
  const price = (name: string) => info.number(name) ?? params.number(name) ?? listed.number(name);
  const flag = (name: string) => info.boolean(name) ?? listed.boolean(name);
  const mode = modeOf(deployment);
  const operation = pathsOf(mode).length > 0 ? 'passthrough' : operations[mode];
  const isBare = info.value('max_output_tokens') === undefined;
  return {
    context_length:
      info.count('max_input_tokens') ??
      (isBare ? info.count('max_tokens') : undefined) ??
      listed.count('max_input_tokens'),
    max_completion_tokens: info.count('max_output_tokens') ?? listed.count('max_output_tokens'),
    pricing: defined({
      prompt: price('input_cost_per_token'),
      completion: price('output_cost_per_token'),
      input_cache_read: price('cache_read_input_token_cost'),
      input_cache_write: price('cache_creation_input_token_cost'),
      request: price('input_cost_per_request'),
    }),
    ...(operation !== undefined && { operations: [operation] }),
    reasoning: flag('supports_reasoning'),
    tool_calls: flag('supports_function_calling'),
    images: flag('supports_vision'),
  };
}

function defined(values: Readonly<Record<string, number | undefined>>): ModelFacts['pricing'] {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

const one = 'a model has one price of input and one of output here';

/** What is done with each field of `model_info`. */
export const infoRules: Readonly<Record<string, FieldRule>> = {
  id: null,
  mode: null,
  max_tokens: null,
  max_input_tokens: null,
  max_output_tokens: null,
  supports_function_calling: null,
  supports_reasoning: null,
  supports_vision: null,
  supports_parallel_function_calling: null,
  supports_response_schema: null,
  supports_system_messages: null,
  supports_tool_choice: null,
  supports_prompt_caching: null,
  input_cost_per_token: null,
  output_cost_per_token: null,
  cache_read_input_token_cost: null,
  cache_creation_input_token_cost: null,
  input_cost_per_request: null,
  output_vector_size: null,
  description: null,
  db_model: null,
  // By which --prices are looked up.
  base_model: null,
  // Lists of keys may name them.
  access_groups: null,
  health_check_model: 'a health check asks a path of the server: health_check of the provider',
  input_cost_per_second: one,
  output_cost_per_second: one,
  output_cost_per_image: one,
  input_cost_per_character: one,
  team_id: 'models of an account says which it may use',
};
