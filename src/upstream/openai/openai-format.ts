import { randomUUID } from 'node:crypto';
import type {
  ChatRequest,
  Completion,
  FinishReason,
  Message,
  ReplyMessage,
  ToolCall,
  Usage,
} from '../../canonical.ts';
import { tokenCount, usageOf } from '../../canonical.ts';
import { refusal } from '../../errors.ts';
import { isObject, type Json } from '../../json-object.ts';
import type { Target } from '../adapter.ts';
import { UpstreamError } from '../http/upstream-error.ts';

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
export function encodeOpenAi(request: ChatRequest, target: Target): Json {
  const body: Json = { model: target.model, messages: request.messages.map(writtenMessage) };
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

/** A message with its reasoning under the name that most servers read. */
function writtenMessage(message: Message): object {
  if (message.reasoning === undefined && !message.reasoning_details) return message;
  const { reasoning, reasoning_details, ...rest } = message;
  return reasoning === undefined ? rest : { ...rest, reasoning_content: reasoning };
}

/** Canonical finish reason for any server's value. `undefined`: not ended yet. Throws if the value means a failure. */
export function finishReasonOf(value: unknown): FinishReason | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  switch (value) {
    case 'length':
    case 'max_tokens':
      return 'length';
    case 'tool_calls':
    case 'tool_use':
    case 'function_call':
      return 'tool_calls';
    case 'content_filter':
      return 'content_filter';
    case 'abort':
    case 'error':
      throw refusal('provider_broke_off', { cause: new Error(`finish_reason ${value}`) });
    default:
      return 'stop';
  }
}

/** Text of a string or of content parts; `thinking` parts are reasoning. */
export function textsOf(content: unknown): { content?: string; reasoning?: string } {
  if (typeof content === 'string') return { content };
  if (!Array.isArray(content)) return {};
  let text = '';
  let reasoning = '';
  for (const part of content) {
    if (!isObject(part)) continue;
    if (typeof part.text === 'string') text += part.text;
    else if (part.type === 'thinking') {
      reasoning += typeof part.thinking === 'string' ? part.thinking : (textsOf(part.thinking).content ?? '');
    }
  }
  return { content: text, ...(reasoning !== '' && { reasoning }) };
}

/** Separated reasoning of a message, under any server's field name. */
export function reasoningOf(message: Json): string | undefined {
  const { reasoning: newer, reasoning_content: older, reasoning_details: details } = message;
  if (typeof newer === 'string' && newer !== '') return newer;
  if (typeof older === 'string' && older !== '') return older;
  if (!Array.isArray(details)) return typeof newer === 'string' || typeof older === 'string' ? '' : undefined;
  let reasoning = '';
  for (const detail of details) {
    if (!isObject(detail)) continue;
    if (typeof detail.text === 'string') reasoning += detail.text;
    else if (typeof detail.summary === 'string') reasoning += detail.summary;
  }
  return reasoning;
}

export const argumentsText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);

/** Usage with the four keys that the interface shows; `undefined` if the server's figures are incomplete. */
export function readUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  // Incomplete usage would be billed as if it were exact, and no estimate would replace it.
  const prompt_tokens = tokenCount(value.prompt_tokens);
  const completion_tokens = tokenCount(value.completion_tokens);
  if (prompt_tokens === undefined || completion_tokens === undefined) return undefined;
  const prompt = isObject(value.prompt_tokens_details) ? value.prompt_tokens_details : {};
  const completion = completionDetails(value);
  return usageOf(prompt_tokens, completion_tokens, tokenCount(prompt.cached_tokens), completion);
}

/** Breakdown of completion tokens. SGLang counts reasoning beside the other figures, all other servers in the breakdown. */
function completionDetails({ completion_tokens_details: details, reasoning_tokens }: Json) {
  const counts = isObject(details) ? countsOf(details) : undefined;
  const beside = tokenCount(reasoning_tokens);
  return beside ? { reasoning_tokens: beside, ...counts } : counts;
}

/** Figures kept of a breakdown. No server has more, and it is written with every chunk of running usage. */
const max_details = 32;

/** The upstream's breakdown goes to clients and metrics as it is, so nothing but numbers may be in it. */
const countsOf = (details: Json): Record<string, number> =>
  Object.fromEntries(
    Object.entries(details)
      .filter((entry): entry is [string, number] => tokenCount(entry[1]) !== undefined)
      .slice(0, max_details),
  );

/** An id for a tool call of a server that gives none; clients find calls by it across a whole conversation. */
export const newCallId = (): string => `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`;

/** A whole OpenAI reply in the canonical form. */
export function decodeOpenAiReply(body: unknown): Completion {
  const told = UpstreamError.in(body);
  if (told) throw told.withoutStatus();
  if (!isObject(body) || !Array.isArray(body.choices) || body.choices.length === 0) {
    throw refusal('provider_invalid', { cause: new Error('a reply without choices') });
  }
  const usage = readUsage(body.usage);
  return { choices: body.choices.map(decodeChoice), ...(usage && { usage }) };
}

function decodeChoice(choice: unknown, position: number): Completion['choices'][number] {
  if (!isObject(choice) || !isObject(choice.message)) {
    throw refusal('provider_invalid', { cause: new Error('a choice without message') });
  }
  const finish = finishReasonOf(choice.finish_reason);
  if (!finish) throw refusal('provider_invalid', { cause: new Error('a choice without finish_reason') });
  const message = decodeMessage(choice.message);
  return {
    index: indexIn(choice.index) ?? position,
    message,
    finish_reason: message.tool_calls && finish === 'stop' ? 'tool_calls' : finish,
    ...(choice.logprobs != null && { logprobs: choice.logprobs }),
  };
}

function decodeMessage(message: Json): ReplyMessage {
  const texts = textsOf(message.content);
  const reasoning = reasoningOf(message) ?? texts.reasoning;
  const tool_calls = Array.isArray(message.tool_calls)
    ? message.tool_calls.filter(isObject).map(call => decodeToolCall(call))
    : [];
  const content = texts.content ?? '';
  return {
    role: 'assistant',
    content: content === '' && tool_calls.length > 0 ? null : content,
    ...(reasoning !== undefined && { reasoning }),
    ...(tool_calls.length > 0 && { tool_calls }),
    ...(typeof message.refusal === 'string' && { refusal: message.refusal }),
  };
}

function decodeToolCall(call: Json): ToolCall {
  const called = isObject(call.function) ? call.function : {};
  return {
    id: typeof call.id === 'string' && call.id !== '' ? call.id : newCallId(),
    type: 'function',
    function: { name: String(called.name ?? ''), arguments: argumentsText(called.arguments) },
  };
}
