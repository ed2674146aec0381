import { z } from 'zod';
import {
  type ChatRequest,
  requestFields as fields,
  type Model,
  parseBody,
  setAsideUnknown,
} from '../../../src/plugin.ts';
import { markLast, messages, system } from './conversation.ts';
import { checkChoice, choiceParameters, functionsIn, toolChoice, tools } from './messages-tools.ts';
import { type Effort, efforts, nearestEffort, thinking } from './nearest-effort.ts';
import { setAsideInside } from './unknown-fields.ts';

/** The shape of a Messages request. Null is the same as absent. */

const texts = z
  .custom<string[]>(
    value => Array.isArray(value) && value.every(text => typeof text === 'string' && text !== ''),
    'must be an array of non-empty strings',
  )
  .nullish();

const jsonFormat = z
  .object(
    { type: z.literal('json_schema', 'must be "json_schema"'), schema: fields.anyObject },
    'must be an object {type: "json_schema", schema}',
  )
  .nullish();

const outputConfig = z
  .object(
    { effort: z.enum(efforts, `must be one of: ${efforts.join(', ')}`).nullish(), format: jsonFormat },
    'must be an object {effort, format}',
  )
  .nullish();

const { model, stream, stream_options } = fields.sharedFields;
const counted = {
  model,
  messages,
  system,
  tools,
  tool_choice: toolChoice,
  thinking,
  output_config: outputConfig,
  cache_control: fields.cacheControl,
  thread: fields.notOffered('conversations are not stored here; send all messages each time'),
};
const maxTokens = `is required: ${fields.atLeastOne.slice('must be '.length)}`;
const generated = {
  ...counted,
  max_tokens: z.int(maxTokens).min(1, fields.atLeastOne),
  metadata: z.object({ user_id: fields.optionalText }, 'must be an object {user_id}').nullish(),
  stop_sequences: texts,
  stream,
  stream_options,
  temperature: fields.number(0, 1),
  top_k: z.int('must be an integer of at least 0').min(0, 'must be an integer of at least 0').nullish(),
  top_p: fields.number(0, 1),
};

const countRequest = z.object(counted).superRefine(checkChoice);
const messagesRequest = z
  .object(generated)
  .superRefine(checkChoice)
  .superRefine(fields.checkStreamOptions)
  .superRefine(({ thinking, max_tokens }, issues) => {
    if (thinking?.type === 'enabled' && thinking.budget_tokens >= max_tokens)
      fields.fault(issues, 'must be less than max_tokens', 'thinking', 'budget_tokens');
  });

type CountFields = z.output<typeof countRequest>;
type MessagesFields = z.output<typeof messagesRequest>;

const countedFields: ReadonlySet<string> = new Set(Object.keys(counted));
/** `top_k` has no name in the OpenAI format: providers are sent it if their configuration names it. */
const generatedFields: ReadonlySet<string> = new Set(Object.keys(generated).filter(name => name !== 'top_k'));

type FindModel = (id: string) => Model | undefined;

/** A Messages request in the canonical form. Throws `invalid_request` naming the first field at fault. */
export function parseMessagesRequest(body: Record<string, unknown>, find: FindModel): ChatRequest {
  const from = parseBody(messagesRequest, body);
  const request = requestOf(from, body, find);
  const { max_tokens, stop_sequences: stop } = from;
  Object.assign(request, { max_tokens }, stop?.length && { stop });
  setAsideUnknown(request, body, generatedFields);
  fields.setAsideStreamOptions(request, body);
  return request;
}

/** A request to count tokens, which has the fields that decide the prompt. */
export function parseCountRequest(body: Record<string, unknown>, find: FindModel): ChatRequest {
  const request = requestOf(parseBody(countRequest, body), body, find);
  setAsideUnknown(request, body, countedFields);
  return request;
}

function requestOf(
  from: CountFields & Partial<MessagesFields>,
  body: Record<string, unknown>,
  find: FindModel,
): ChatRequest {
  const { model, system, messages, temperature, top_p, stream, stream_options, metadata } = from;
  const conversation = system ? [system, ...messages] : messages;
  if (from.cache_control) markLast(conversation, from.cache_control);
  const shared = { model, temperature, top_p, stream, stream_options, user: metadata?.user_id };
  const request = fields.sharedRequest(shared, conversation);
  const { functions, foreign, search } = functionsIn(from.tools);
  if (functions.length > 0) request.tools = functions;
  Object.assign(request.parameters, choiceParameters(from.tool_choice, search), formatOf(from));
  if (search) request.parameters.web_search_options = search.search;
  for (const type of foreign) request.unknown[`tools.${type}`] = true;
  setAsideInside(request, body);
  const search_name = search && { web_search_options: `tools.${search.foreign}` };
  request.client = { field_names: { ...namesIn(from), ...search_name } };
  setEffort(request, { thinking: from.thinking, effort: from.output_config?.effort }, find(model));
  return request;
}

function formatOf({ output_config }: CountFields): ChatRequest['parameters'] {
  const schema = output_config?.format?.schema;
  if (!schema) return {};
  return { response_format: { type: 'json_schema', json_schema: { name: 'output', schema, strict: true } } };
}

/** How much the client wants the model to think. */
interface Wish {
  readonly thinking: CountFields['thinking'];
  readonly effort: Effort | null | undefined;
}

/** Sets the effort, or names what asks for thinking that the model cannot do. */
function setEffort(request: ChatRequest, wish: Wish, model: Model | undefined): void {
  const { thinking, effort } = wish;
  if (!thinking && !effort) return;
  const level = model && nearestEffort(model, thinking, effort);
  if (level !== undefined) request.reasoning_effort = level;
  else if (effort) request.unknown[effort_field] = effort;
  else if (thinking?.type === 'enabled') request.unknown[budget_field] = thinking.budget_tokens;
  request.client = { ...request.client, kept: { wish, level } };
}

/** Fits what the client wants to another model that a stage has named, unless a stage has set the effort as well. */
export function refitEffort(request: ChatRequest, model: Model | undefined): void {
  const kept = request.client?.kept as { wish: Wish; level: string | undefined } | undefined;
  if (!kept || request.reasoning_effort !== kept.level) return;
  delete request.reasoning_effort;
  delete request.unknown[effort_field];
  delete request.unknown[budget_field];
  setEffort(request, kept.wish, model);
}

const effort_field = 'output_config.effort';
const budget_field = 'thinking.budget_tokens';

/** This format's names of fields that the canonical form calls differently, or counts differently. */
const namesIn = ({ output_config }: CountFields): Record<string, string> => ({
  messages: 'messages',
  stop: 'stop_sequences',
  user: 'metadata.user_id',
  parallel_tool_calls: 'tool_choice.disable_parallel_tool_use',
  response_format: 'output_config.format',
  reasoning_effort: output_config?.effort ? 'output_config.effort' : 'thinking',
});
