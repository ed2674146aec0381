import {
  type ChatRequest,
  checkToolArguments,
  invalidField,
  isObject,
  type Json,
  type MessageField,
  type Target,
  type UpstreamRequest,
} from '../../../src/plugin.ts';

import { withCacheMarks } from './cache-marks.ts';
import { History, hasReasoning, type ThinkingMemory } from './history.ts';
import { conversationOf, type Restore } from './messages.ts';
import { isSilenced, isThinking, type Traits, thinkingOf, traitsOf } from './thinking.ts';
import { isForcing, toolFields } from './tools.ts';

export interface EncodeOptions {
  readonly thinking: Traits['thinking'] | 'auto';
  readonly on_changed_history: 'refuse' | 'drop';
  readonly strict_tools: boolean;
  readonly prompt_caching: 'off' | '5m' | '1h';
}

/** Forwarded parameters that the API supports. */
export const parameters: ReadonlySet<string> = new Set([
  'top_p',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'user',
]);
/** All that messages can have in this API. */
export const messageFields: ReadonlySet<MessageField> = new Set([
  'reasoning',
  'image_url',
  'cache_control',
  'is_error',
  'tool_reference',
  'native',
]);
/** Fields that are translated; all others were set by the operator and are sent unchanged. */
const translated: ReadonlySet<string> = new Set([...parameters, 'metadata', 'web_search_options']);
/** Default for a model without a cap, as where this adapter is used alone. */
const default_max_tokens = 4096;

/** Encodes a request for `POST /v1/messages`. */
export function encodeRequest(
  request: ChatRequest,
  target: Target,
  options: EncodeOptions,
  memory: ThinkingMemory,
): Pick<UpstreamRequest, 'body' | 'ignored'> {
  if (request.n !== undefined && request.n > 1) throw invalidField('n', 'must be 1 for this model.');
  checkToolArguments(request.messages);
  const traits = traitsOf(target.model, options.thinking);
  const max_tokens = request.max_tokens ?? target.maxTokens ?? default_max_tokens;
  const history = new History(request.messages, memory);
  const tools = toolFields(request, options.strict_tools);
  const obstacles = { isForced: isForcing(tools), isForgotten: history.isForgotten };
  const effort = thinkingOf(request, target, traits, max_tokens, obstacles);
  const isSilent = isSilenced(effort.fields);
  const isForgetting = isSilent ? request.messages.some(hasReasoning) : history.isDropped;
  const sampling = samplingOf(request, traits, isThinking(effort.fields));
  const stop = stopOf(request);
  const { request: body, isDropped } = withCacheMarks(
    {
      model: target.model,
      max_tokens,
      ...conversationOf(request.messages, isSilent ? unrestored : history.restore),
      ...(request.stream && { stream: true }),
      ...sampling.fields,
      ...stop.fields,
      ...tools,
      ...withFormat(withBinding(effort.fields, options), request),
      ...userFields(request),
      ...operatorFields(request, target),
    },
    options.prompt_caching,
  );
  const dropped = [
    ...(effort.isDropped ? ['reasoning_effort'] : []),
    ...(isForgetting ? ['messages.reasoning'] : []),
    ...(isDropped ? ['cache_control'] : []),
  ];
  return { body: { ...body }, ignored: [...sampling.ignored, ...stop.ignored, ...dropped] };
}

const unrestored: Restore = (_message, _at, rebuilt) => rebuilt;

/** Encoded fields, and the names of what they cannot express. */
interface Said {
  readonly fields: Json;
  readonly ignored: readonly string[];
}

/** With thinking, temperature stays at 1 and `top_p` near 1; otherwise older models accept one of the two, newer ones neither. */
function samplingOf(
  { temperature, parameters: { top_p } }: ChatRequest,
  { sampling }: Traits,
  isThinking: boolean,
): Said {
  const takesTemperature = temperature === 1 || (sampling && !isThinking);
  const least_top_p = !sampling ? 0.99 : isThinking ? 0.95 : 0;
  const takesTopP = typeof top_p === 'number' && top_p >= least_top_p && temperature === undefined;
  const fields = {
    ...(temperature !== undefined && takesTemperature && { temperature }),
    ...(takesTopP && { top_p }),
  };
  const ignored = [
    ...(temperature !== undefined && !takesTemperature ? ['temperature'] : []),
    ...(top_p !== undefined && !takesTopP ? ['top_p'] : []),
  ];
  return { fields, ignored };
}

/** Stop sequences without blank ones, which the API rejects. */
function stopOf({ stop = [] }: ChatRequest): Said {
  const stop_sequences = stop.filter(text => text.trim() !== '');
  return {
    fields: stop_sequences.length > 0 ? { stop_sequences } : {},
    ignored: stop_sequences.length === stop.length ? [] : ['stop'],
  };
}

/**
 * Adds the field for changed history. Only newer models have it: they check that nothing has changed before the thinking that is sent back.
 */
function withBinding(fields: Json, { on_changed_history }: EncodeOptions): Json {
  const { thinking } = fields;
  if (on_changed_history === 'refuse' || !isObject(thinking) || thinking.type !== 'adaptive') return fields;
  return { ...fields, thinking: { ...thinking, block_binding: { prefix_mismatch_behavior: 'drop_block' } } };
}

/** Adds structured output to the effort's fields, as the API has it: by a schema. */
function withFormat(fields: Json, { parameters: { response_format: format } }: ChatRequest): Json {
  if (format === undefined || (isObject(format) && format.type === 'text')) return fields;
  const described = isObject(format) && format.type === 'json_schema' ? format.json_schema : undefined;
  const schema = isObject(described) ? described.schema : undefined;
  if (!isObject(schema)) {
    throw invalidField(
      'response_format',
      'must be {type: "json_schema", json_schema: {schema}} or {type: "text"} for this model.',
    );
  }
  const others = isObject(fields.output_config) ? fields.output_config : {};
  return { ...fields, output_config: { ...others, format: { type: 'json_schema', schema } } };
}

const userFields = ({ parameters: { user } }: ChatRequest): Json =>
  typeof user === 'string' && user !== '' ? { metadata: { user_id: user } } : {};

/** Fields that the configuration adds to requests, or lets clients add. */
function operatorFields({ parameters: given, unknown }: ChatRequest, { extraParameters }: Target): Json {
  const fields: Json = {};
  for (const name in given) if (!translated.has(name)) fields[name] = given[name];
  for (const name of extraParameters) if (Object.hasOwn(unknown, name)) fields[name] = unknown[name];
  return fields;
}
