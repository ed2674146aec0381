import { randomUUID } from 'node:crypto';
import { isObject, type Json } from '../../../common/json-object.ts';
import {
  type ChatRequest,
  type Choice,
  type Completion,
  max_choices,
  type ReplyExtras,
  type ReplyMessage,
  type ToolCall,
} from '../../exchange/canonical.ts';
import { refusal } from '../../exchange/errors.ts';
import type { Target } from '../adapter.ts';
import type { MessageField } from '../attempt/fit-messages.ts';
import { UpstreamError } from '../http/upstream-error.ts';
import { atMost, extraContent, max_parts, max_tool_calls, writable } from '../reply-bounds.ts';
import { finishOf } from './finish-reason.ts';
import { type OpenAiMessageForm, openAiMessages } from './openai-messages.ts';
import { readUsage } from './openai-usage.ts';

/**
 * The OpenAI chat completion format as servers really speak it, for adapters to build on: what is sent, and how the many ways of
 * saying the same thing are read into the canonical form.
 */

/** An array with one element at a greater index takes long to walk through. */
const max_index = 65_535;

/** The index of a choice or a tool call, if a server gives one. */
export const indexIn = (value: unknown): number | undefined =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max_index ? Number(value) : undefined;

/** The body of an OpenAI request without what adapters differ in: effort, streaming options. */
export function encodeOpenAi(request: ChatRequest, target: Target, form: OpenAiMessageForm = {}): Json {
  const body: Json = { model: target.model, messages: openAiMessages(request.messages, target.model, form) };
  if (request.stream) body.stream = true;
  if (request.temperature !== undefined) body.temperature = request.temperature;
  if (request.max_tokens !== undefined) body.max_tokens = request.max_tokens;
  if (request.stop !== undefined) body.stop = request.stop;
  if (request.tools !== undefined && request.tools.length > 0) body.tools = request.tools;
  if (request.n !== undefined) body.n = request.n;
  for (const name in request.parameters) body[name] = request.parameters[name];
  for (const name of target.extraParameters) {
    if (Object.hasOwn(request.unknown, name)) body[name] = request.unknown[name];
  }
  return body;
}

/** Text of a string or of content parts; `thinking` parts are reasoning. Throws `provider_invalid` for too many parts. */
export function textsOf(content: unknown): { content?: string; reasoning?: string } {
  if (typeof content === 'string') return { content };
  if (!Array.isArray(content)) return {};
  let text = '';
  let reasoning = '';
  for (const part of atMost(content, max_parts, 'parts')) {
    if (!isObject(part)) continue;
    if (typeof part.text === 'string') text += part.text;
    else if (part.type === 'thinking') reasoning += thoughtsOf(part.thinking);
  }
  return { content: text, ...(reasoning !== '' && { reasoning }) };
}

/** Text of a `thinking` part, which may be a list of texts. */
function thoughtsOf(thinking: unknown): string {
  if (!Array.isArray(thinking)) return typeof thinking === 'string' ? thinking : '';
  const texts = atMost(thinking, max_parts, 'parts').map(part => (isObject(part) ? part.text : undefined));
  return texts.filter(text => typeof text === 'string').join('');
}

/** Separated reasoning of a message, under any server's field name. */
export function reasoningOf(message: Json): string | undefined {
  const { reasoning: newer, reasoning_content: older, reasoning_details: details } = message;
  if (typeof newer === 'string' && newer !== '') return newer;
  if (typeof older === 'string' && older !== '') return older;
  if (!Array.isArray(details)) return typeof newer === 'string' || typeof older === 'string' ? '' : undefined;
  let reasoning = '';
  for (const detail of atMost(details, max_parts, 'details of reasoning')) {
    if (!isObject(detail)) continue;
    if (typeof detail.text === 'string') reasoning += detail.text;
    else if (typeof detail.summary === 'string') reasoning += detail.summary;
  }
  return reasoning;
}

export const argumentsText = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : value === undefined || value === null
      ? ''
      : JSON.stringify(writable(value));

/** An id for a tool call of a server that gives none; clients find calls by it across a whole conversation. */
export const newCallId = (): string => `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`;

/** How whole replies of servers of this format differ. */
export interface OpenAiReplyOptions {
  /** The status of an error inside a reply or a stream can be trusted; some servers use 400 for all errors. */
  readonly errorsHaveStatus?: boolean;
  /** The field of a choice with the stop sequence at which it ended; what is no text there, such as a token id, is ignored. */
  readonly stopSequenceField?: string;
  /** What the server takes back of messages: without `extra_content` none is read. */
  readonly messageFields?: ReadonlySet<MessageField>;
}

/** A whole OpenAI reply in the canonical form. Throws an UpstreamError for an error in its place. */
export function decodeOpenAiReply(body: unknown, options: OpenAiReplyOptions = {}): Completion {
  const told = UpstreamError.in(body);
  if (told) throw options.errorsHaveStatus ? told : told.withoutStatus();
  if (!isObject(body) || !Array.isArray(body.choices) || body.choices.length === 0) {
    throw refusal('provider_invalid', { cause: new Error('a reply without choices') });
  }
  const usage = readUsage(body.usage);
  const choices = atMost(body.choices, max_choices, 'choices').map((choice, position) =>
    decodeChoice(choice, position, options),
  );
  return { choices, ...(usage && { usage }) };
}

/** The stop sequence at which a choice ended, if the server says so. */
export function stopSequenceIn(choice: Json, { stopSequenceField: field }: OpenAiReplyOptions) {
  const text = field === undefined ? undefined : choice[field];
  return typeof text === 'string' && text !== '' ? { stop_sequence: text } : undefined;
}

function decodeChoice(choice: unknown, position: number, options: OpenAiReplyOptions): Choice {
  if (!isObject(choice) || !isObject(choice.message)) {
    throw refusal('provider_invalid', { cause: new Error('a choice without message') });
  }
  const finish = finishOf(choice.finish_reason);
  if (!finish) throw refusal('provider_invalid', { cause: new Error('a choice without finish_reason') });
  const message = decodeMessage(choice.message, options);
  return {
    index: indexIn(choice.index) ?? position,
    message,
    ...finish,
    ...stopSequenceIn(choice, options),
    ...(message.tool_calls && finish.finish_reason === 'stop' && { finish_reason: 'tool_calls' }),
    ...(choice.logprobs != null && { logprobs: choice.logprobs }),
  };
}

function decodeMessage(message: Json, options: OpenAiReplyOptions): ReplyMessage {
  const texts = textsOf(message.content);
  const reasoning = reasoningOf(message) ?? texts.reasoning;
  const tool_calls = Array.isArray(message.tool_calls)
    ? atMost(message.tool_calls, max_tool_calls, 'tool calls')
        .filter(isObject)
        .map(call => decodeToolCall(call, options))
    : [];
  const content = texts.content ?? '';
  return {
    role: 'assistant',
    content: content === '' && tool_calls.length > 0 ? null : content,
    ...(reasoning !== undefined && { reasoning }),
    ...(tool_calls.length > 0 && { tool_calls }),
    ...(typeof message.refusal === 'string' && { refusal: message.refusal }),
    ...(message.annotations || message.images ? extrasIn(message) : undefined),
  };
}

/** Citations and images in a message or delta. */
export function extrasIn({ annotations, images }: Json): ReplyExtras | undefined {
  const listOf = (value: unknown, type: string): never[] =>
    Array.isArray(value)
      ? (value.filter(one => isObject(one) && one.type === type && isObject(one[type])) as never[])
      : [];
  const cited = listOf(annotations, 'url_citation');
  const shown = listOf(images, 'image_url');
  return { ...(cited.length > 0 && { annotations: cited }), ...(shown.length > 0 && { images: shown }) };
}

/** What a server adds to a call and needs back, if the adapter sends it. */
export const extraContentIn = ({ extra_content: added }: Json, { messageFields }: OpenAiReplyOptions) =>
  isObject(added) && messageFields?.has('extra_content') ? { extra_content: extraContent(added) } : undefined;

function decodeToolCall(call: Json, options: OpenAiReplyOptions): ToolCall {
  const called = isObject(call.function) ? call.function : {};
  return {
    id: typeof call.id === 'string' && call.id !== '' ? call.id : newCallId(),
    type: 'function',
    function: {
      name: typeof called.name === 'string' ? called.name : '',
      arguments: argumentsText(called.arguments),
    },
    ...extraContentIn(call, options),
  };
}
