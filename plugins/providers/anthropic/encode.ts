import { type ChatRequest, invalidField, type Target, type UpstreamRequest } from '../../../src/plugin.ts';
import { isObject, type Json } from './blocks.ts';
import { History, type ThinkingMemory } from './history.ts';
import { conversationOf } from './messages.ts';
import { type Traits, traitsOf } from './models.ts';
import { isThinking, thinkingOf } from './thinking.ts';
import { isForcing, toolFields } from './tools.ts';

export interface EncodeOptions {
  readonly thinking: Traits['thinking'] | 'auto';
  readonly strict_tools: boolean;
  readonly prompt_caching: 'off' | '5m' | '1h';
}

/** Forwarded parameters that have a counterpart here. */
export const parameters: ReadonlySet<string> = new Set([
  'top_p',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'user',
]);
/** Those are turned into something else; everything beside them was put there by the operator and goes as it is. */
const translated: ReadonlySet<string> = new Set([...parameters, 'metadata']);
/** For a model without a cap, as where this adapter stands alone. */
const default_max_tokens = 4096;

/** A canonical request for `POST /v1/messages`. */
export function encodeRequest(
  request: ChatRequest,
  target: Target,
  options: EncodeOptions,
  memory: ThinkingMemory,
): Pick<UpstreamRequest, 'body' | 'ignored'> {
  if (request.n !== undefined && request.n > 1) throw invalidField('n', 'must be 1 for this model.');
  const traits = traitsOf(target.model, options.thinking);
  const max_tokens = request.max_tokens ?? target.maxTokens ?? default_max_tokens;
  const history = new History(request.messages, memory);
  const tools = toolFields(request, options.strict_tools);
  const obstacles = { isForced: isForcing(tools), isForgotten: history.isForgotten };
  const effort = thinkingOf(request, target, traits, max_tokens, obstacles);
  const isOff = isObject(effort.fields.thinking) && !isThinking(effort.fields);
  const { system, messages } = conversationOf(
    request.messages,
    isOff ? (_message, _at, rebuilt) => rebuilt : history.restore,
  );
  const sampling = samplingOf(request, traits, isThinking(effort.fields));
  const stop = request.stop?.filter(text => text.trim() !== '');
  const body: Json = {
    model: target.model,
    max_tokens,
    ...(system !== '' && { system }),
    messages,
    ...(request.stream && { stream: true }),
    ...sampling.fields,
    ...(stop?.length && { stop_sequences: stop }),
    ...tools,
    ...effort.fields,
    ...(options.prompt_caching !== 'off' && {
      cache_control: { type: 'ephemeral', ttl: options.prompt_caching },
    }),
    ...userFields(request),
    ...operatorFields(request, target),
  };
  const format = formatOf(request.parameters.response_format);
  if (format) body.output_config = { ...(isObject(body.output_config) && body.output_config), format };
  const ignored = [
    ...sampling.ignored,
    ...(stop?.length === request.stop?.length ? [] : ['stop']),
    ...(effort.isDropped ? ['reasoning_effort'] : []),
  ];
  return { body, ignored };
}

/** Thinking leaves the temperature at 1 and nearly all of the mass to `top_p`; older models want one of the two, newer ones neither. */
function samplingOf(
  { temperature, parameters: { top_p } }: ChatRequest,
  { sampling }: Traits,
  isThinking: boolean,
): { readonly fields: Json; readonly ignored: readonly string[] } {
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

/** Structured output as the API has it: by a schema. */
function formatOf(format: unknown): Json | undefined {
  if (format === undefined || (isObject(format) && format.type === 'text')) return undefined;
  if (isObject(format) && format.type === 'json_schema' && isObject(format.json_schema)) {
    const { schema } = format.json_schema;
    if (isObject(schema)) return { type: 'json_schema', schema };
  }
  throw invalidField(
    'response_format',
    'must be {type: "json_schema", json_schema: {schema}} or text for this model.',
  );
}

const userFields = ({ parameters: { user } }: ChatRequest): Json =>
  typeof user === 'string' && user !== '' ? { metadata: { user_id: user } } : {};

/** What the configuration adds to requests, and what it lets clients add. */
function operatorFields({ parameters: given, unknown }: ChatRequest, { extraParameters }: Target): Json {
  const fields: Json = {};
  for (const name in given) if (!translated.has(name)) fields[name] = given[name];
  for (const name of extraParameters) if (Object.hasOwn(unknown, name)) fields[name] = unknown[name];
  return fields;
}
