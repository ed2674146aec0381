import { isObject } from '../../../common/json-object.ts';
import type { ChatRequest } from '../../exchange/canonical.ts';
import { type GatewayError, refusal } from '../../exchange/errors.ts';
import { calledFields, callFields, imageFields, messageFields, partFields } from './message.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Forwarding and naming unknown fields costs more than parsing them; clients send a handful. */
const max_unknown_fields = 1000;

/** Moves fields of `body` that are not `known` to `request.unknown`. Refuses more than a thousand. `prefix`: the field around them. */
export function setAsideUnknown(
  request: ChatRequest,
  body: Fields,
  known: ReadonlySet<string>,
  prefix = '',
): void {
  let count = 0;
  for (const name in body) {
    if (known.has(name) || isAbsent(body[name])) continue;
    if (++count > max_unknown_fields) throw tooManyUnknown(prefix);
    // Assigning `__proto__` would change the object's prototype.
    Object.defineProperty(request.unknown, prefix + name, {
      value: body[name],
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
}

/** Obfuscation is OpenAI's padding of events, which nothing here needs. */
const streamOptions: ReadonlySet<string> = new Set([
  'continuous_usage_stats',
  'include_usage',
  'include_obfuscation',
]);

/** Moves members of the stream options that are not known to `request.unknown`. */
export function setAsideStreamOptions(request: ChatRequest, { stream_options: options }: Fields): void {
  if (options != null && isObject(options))
    setAsideUnknown(request, options, streamOptions, 'stream_options.');
}

/** Moves fields of messages and their parts that are not known to `request.unknown`, each name once: `messages.name`. */
export function setAsideInMessages(request: ChatRequest, messages: unknown): void {
  if (!Array.isArray(messages)) return;
  for (let at = 0; at < messages.length; at++) {
    const message: unknown = messages[at];
    if (!isObject(message)) continue;
    setAsideUnknown(request, message, messageFields, 'messages.');
    if (Array.isArray(message.content)) setAsideInParts(request, message.content);
    if (Array.isArray(message.tool_calls)) setAsideInCalls(request, message.tool_calls);
  }
}

function setAsideInParts(request: ChatRequest, parts: readonly unknown[]): void {
  for (const part of parts) {
    if (!isObject(part)) continue;
    setAsideUnknown(request, part, partFields, 'messages.content.');
    if (isObject(part.image_url))
      setAsideUnknown(request, part.image_url, imageFields, 'messages.content.image_url.');
  }
}

function setAsideInCalls(request: ChatRequest, calls: readonly unknown[]): void {
  for (const call of calls) {
    if (!isObject(call)) continue;
    setAsideUnknown(request, call, callFields, 'messages.tool_calls.');
    if (isObject(call.function))
      setAsideUnknown(request, call.function, calledFields, 'messages.tool_calls.function.');
  }
}

/** Moves fields of the objects in `list` that are not `known` to `request.unknown`. Anything but a list has none. */
export function setAsideInEach(
  request: ChatRequest,
  list: unknown,
  known: ReadonlySet<string>,
  prefix: string,
): void {
  if (!Array.isArray(list)) return;
  for (const one of list) if (isObject(one)) setAsideUnknown(request, one, known, prefix);
}

/** Whether a value says the same as none: clients send their SDK's messages back with every field. */
const isAbsent = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0);

const tooManyUnknown = (prefix: string): GatewayError =>
  refusal('invalid_request', {
    message: `${prefix && `${prefix.slice(0, -1)}: `}more than the ${max_unknown_fields} unknown parameters accepted.`,
  });
