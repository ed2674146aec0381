import {
  type ChatRequest,
  invalidField,
  isObject,
  type MessageField,
  type Target,
  type UpstreamRequest,
} from 'sluice/plugin';
import { contentsOf } from './contents.ts';
import type { SignatureMemory } from './signatures.ts';
import { styleOf, type ThinkingStyle, thinkingOf } from './thinking.ts';
import { toolFields } from './tools.ts';

type Json = Record<string, unknown>;

export interface EncodeOptions {
  readonly thinking: ThinkingStyle | 'auto';
  readonly safety: Readonly<Record<string, string>>;
}

/** Forwarded parameters that the API has; the gateway names the others in `x-ignored-parameters`. */
export const parameters: ReadonlySet<string> = new Set([
  'top_p',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'response_format',
  'tool_choice',
]);

/** What messages may have beside text and calls. */
export const messageFields: ReadonlySet<MessageField> = new Set(['reasoning', 'image_url']);

/** The API takes no more. */
const max_stop_sequences = 5;

/** Encodes a request for `generateContent`, or for its stream. */
export function encodeRequest(
  request: ChatRequest,
  target: Target,
  options: EncodeOptions,
  memory: SignatureMemory,
): UpstreamRequest {
  const style = options.thinking === 'auto' ? styleOf(target.model) : options.thinking;
  const thinking = thinkingOf(request, target, style);
  const { stop = [] } = request;
  const operator = operatorFields(request, target);
  const safetySettings = Object.entries(options.safety).map(([category, threshold]) => ({
    category,
    threshold,
  }));
  const generationConfig = { ...generationFields(request), ...thinking.fields, ...operator.generationConfig };
  const { fields: conversation, isDropped } = contentsOf(request.messages, memory, style === 'level');
  const ignored = [
    ...(stop.length > max_stop_sequences ? ['stop'] : []),
    ...(thinking.isIgnored ? ['reasoning_effort'] : []),
    ...(isDropped ? ['messages.reasoning'] : []),
  ];
  const method = request.stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
  const body = {
    ...conversation,
    ...toolFields(request),
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
    ...(safetySettings.length > 0 && { safetySettings }),
    ...operator.body,
  };
  return { path: `/${modelPath(target.model)}:${method}`, body, ignored };
}

/** `models/NAME`; a name with a slash is a path already, such as `tunedModels/NAME`. */
function modelPath(model: string): string {
  const segments = model.includes('/') ? model.split('/') : ['models', model];
  return segments.map(segment => encodeURIComponent(segment).replace(/^\.+$/, '')).join('/');
}

function generationFields({ temperature, max_tokens, stop, n, parameters: given }: ChatRequest): Json {
  const { top_p, seed, presence_penalty, frequency_penalty, response_format } = given;
  if (typeof seed === 'number' && seed !== Math.trunc(seed) % 2 ** 31)
    throw invalidField('seed', 'must be an integer of 32 bits for this model.');
  return withoutUndefined({
    temperature,
    maxOutputTokens: max_tokens,
    stopSequences: stop?.slice(0, max_stop_sequences),
    candidateCount: n,
    topP: top_p,
    seed,
    presencePenalty: presence_penalty,
    frequencyPenalty: frequency_penalty,
    ...formatFields(response_format),
  });
}

function formatFields(format: unknown): Json {
  if (format === undefined || (isObject(format) && format.type === 'text')) return {};
  const responseMimeType = 'application/json';
  if (isObject(format) && format.type === 'json_object') return { responseMimeType };
  if (isObject(format) && format.type === 'json_schema' && isObject(format.json_schema)) {
    const { schema } = format.json_schema;
    if (isObject(schema)) return { responseMimeType, responseJsonSchema: schema };
  }
  throw invalidField(
    'response_format',
    'must be {type: "json_schema", json_schema: {schema}}, {type: "json_object"} or {type: "text"} for this model.',
  );
}

/** Fields that stand beside `generationConfig`, not in it. */
const bodyFields: ReadonlySet<string> = new Set(['safetySettings', 'cachedContent', 'serviceTier', 'store']);

/** Fields that the configuration adds to requests, or lets clients add. */
function operatorFields({ parameters: given, unknown }: ChatRequest, { extraParameters }: Target) {
  const body: Json = {};
  const generationConfig: Json = {};
  const add = (name: string, value: unknown) => {
    (bodyFields.has(name) ? body : generationConfig)[name] = value;
  };
  for (const name in given) if (!parameters.has(name)) add(name, given[name]);
  for (const name of extraParameters) if (Object.hasOwn(unknown, name)) add(name, unknown[name]);
  return { body, generationConfig };
}

const withoutUndefined = (fields: Json): Json =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
