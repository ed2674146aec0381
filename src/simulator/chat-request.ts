import { isObject, type JsonObject } from './json-value.ts';
import { Refusal } from './refusal.ts';
import { readToolChoice, readTools, type ToolChoice, type ToolFunction } from './tool-offer.ts';

/** One message of the conversation, as far as the simulator looks at it. */
export interface ChatMessage {
  readonly role: string;
  readonly text: string;
}

/** What a chat completion request asks for, checked the way vLLM checks it. */
export interface ChatRequest {
  readonly model: string | null;
  readonly messages: readonly ChatMessage[];
  readonly stream: boolean;
  readonly include_usage: boolean;
  readonly continuous_usage_stats: boolean;
  /** `max_completion_tokens` before `max_tokens`, as in vLLM. */
  readonly max_tokens: number | null;
  readonly n: number;
  readonly stop: readonly string[];
  readonly tools: readonly ToolFunction[];
  readonly tool_choice: ToolChoice;
  readonly parallel_tool_calls: boolean;
  readonly reasoning_effort: string | null;
  readonly enable_thinking: boolean;
  readonly include_reasoning: boolean;
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const MOST_CHOICES = 128;

/** Reads the parsed body of a request; throws a Refusal with vLLM's status and parameter name. */
export function readChatRequest(body: unknown): ChatRequest {
  if (!isObject(body)) throw new Refusal(400, 'The request body must be a JSON object.');
  const stream = optional(body, 'stream', isBoolean, 'a boolean') ?? false;
  const stream_options = optional(body, 'stream_options', isObject, 'an object') ?? {};
  if (Object.keys(stream_options).length > 0 && !stream) {
    throw new Refusal(400, 'Stream options can only be defined when `stream=True`.', 'stream_options');
  }
  checkSampling(body);
  const tools = readTools(body);
  const template = optional(body, 'chat_template_kwargs', isObject, 'an object') ?? {};
  return {
    model: optional(body, 'model', isString, 'a string') ?? null,
    messages: readMessages(body),
    stream,
    include_usage: stream_options.include_usage === true,
    continuous_usage_stats: stream_options.continuous_usage_stats === true,
    max_tokens: readTokenLimit(body, 'max_completion_tokens') ?? readTokenLimit(body, 'max_tokens') ?? null,
    n: optional(body, 'n', isChoiceCount, `an integer from 1 to ${MOST_CHOICES}`) ?? 1,
    stop: readStop(body),
    tools,
    tool_choice: readToolChoice(body, tools),
    parallel_tool_calls: optional(body, 'parallel_tool_calls', isBoolean, 'a boolean') ?? true,
    reasoning_effort: optional(body, 'reasoning_effort', isEffort, `one of ${EFFORTS.join(', ')}`) ?? null,
    enable_thinking: template.enable_thinking !== false,
    include_reasoning: optional(body, 'include_reasoning', isBoolean, 'a boolean') ?? true,
  };
}

function readMessages(body: JsonObject): ChatMessage[] {
  const list = body.messages;
  if (!Array.isArray(list)) throw new Refusal(400, '`messages` must be an array.', 'messages');
  if (list.length === 0) throw new Refusal(400, '`messages` must not be empty.', 'messages');
  return list.map((message: unknown, index) => {
    if (!isObject(message) || typeof message.role !== 'string') {
      throw new Refusal(400, `messages[${index}] must be an object with a role.`, 'messages');
    }
    return { role: message.role, text: messageText(message) };
  });
}

/** Content and, for an assistant's turn, the calls it made: everything a chat template would print. */
function messageText(message: JsonObject): string {
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  return contentText(message.content) + calls.map(callText).join('');
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map(part => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('');
}

function callText(call: unknown): string {
  const called = isObject(call) ? call.function : null;
  return isObject(called) ? `${String(called.name)}(${String(called.arguments)})` : '';
}

function readTokenLimit(body: JsonObject, name: string): number | undefined {
  const limit = optional(body, name, isInteger, 'an integer');
  if (limit !== undefined && limit < 1) {
    throw new Refusal(
      400,
      `${name} must be at least 1, got ${limit}. (parameter=${name}, value=${limit})`,
      name,
    );
  }
  return limit;
}

function checkSampling(body: JsonObject): void {
  const temperature = optional(body, 'temperature', isNumber, 'a number') ?? 1;
  if (temperature < 0) {
    throw new Refusal(400, `temperature must be non-negative, got ${temperature}.`, 'temperature');
  }
  const top_p = optional(body, 'top_p', isNumber, 'a number') ?? 1;
  if (top_p <= 0 || top_p > 1) throw new Refusal(400, `top_p must be in (0, 1], got ${top_p}.`, 'top_p');
}

function readStop(body: JsonObject): string[] {
  const stop = body.stop ?? [];
  const list: unknown[] = Array.isArray(stop) ? stop : [stop];
  if (!list.every(isString))
    throw new Refusal(400, '`stop` must be a string or an array of strings.', 'stop');
  if (list.includes('')) throw new Refusal(400, 'stop cannot contain an empty string.', 'stop');
  return list;
}

function optional<T>(
  body: JsonObject,
  name: string,
  fits: (value: unknown) => value is T,
  expected: string,
): T | undefined {
  const value = body[name] ?? undefined;
  if (value === undefined) return undefined;
  if (!fits(value)) throw new Refusal(400, `\`${name}\` must be ${expected}.`, name);
  return value;
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function isInteger(value: unknown): value is number {
  return Number.isInteger(value);
}

function isChoiceCount(value: unknown): value is number {
  return isInteger(value) && value >= 1 && value <= MOST_CHOICES;
}

function isEffort(value: unknown): value is string {
  return isString(value) && EFFORTS.includes(value);
}
