import type {
  ChatRequest,
  ContentPart,
  Message,
  TextPart,
  Tool,
  ToolCall,
} from '../../exchange/canonical.ts';
import { invalidField } from '../../exchange/errors.ts';

/** Parts of messages, beyond text and tool calls, that an adapter may be able to encode. */
export const message_fields = [
  'reasoning',
  'cache_control',
  'image_url',
  'is_error',
  'extra_content',
  'tool_reference',
  'native',
  'file',
] as const;

/** One of them. */
export type MessageField = (typeof message_fields)[number];

/** Which reasoning that clients send back goes to a provider: of turns that called tools, all, or none. */
export const sendReasoning = ['tool_turns', 'always', 'never'] as const;

/** What a provider takes of messages. */
export interface AcceptedMessages {
  readonly fields: ReadonlySet<MessageField>;
  readonly send_reasoning: (typeof sendReasoning)[number];
}

/**
 * `request` without reasoning, cache marks, failures of tools and additions to calls that its upstream does not accept, and the names of what was left out. Returns the same object
 * if nothing was. Throws `invalid_request` for an image that it does not accept: without it the question would be another.
 */
export function withFitMessages(request: ChatRequest, accepted: AcceptedMessages) {
  const keepsMarks = accepted.fields.has('cache_control');
  const isPlain = request.messages.every(isPlainText) && (keepsMarks || !request.tools?.some(isMarked));
  if (isPlain) return { request, ignored: [] as string[] };
  const ignored = new Set<string>();
  const messages = eachFitted(request.messages, message => fittedMessage(message, accepted, ignored));
  const tools =
    request.tools && !keepsMarks ? eachFitted(request.tools, tool => unmarked(tool, ignored)) : request.tools;
  if (messages === request.messages && tools === request.tools) return { request, ignored: [] as string[] };
  return { request: { ...request, messages, ...(tools && { tools }) }, ignored: [...ignored] };
}

/** Fields that every upstream takes. */
const plain_fields: readonly string[] = [
  'role',
  'content',
  'name',
  'tool_call_id',
] satisfies (keyof Message)[];

/** Whether a message is what every upstream takes, as most are. */
function isPlainText(message: Message): boolean {
  for (const name in message) if (!plain_fields.includes(name)) return false;
  return !Array.isArray(message.content);
}

const isMarked = ({ cache_control }: Tool): boolean => cache_control !== undefined;

function fittedMessage(message: Message, accepted: AcceptedMessages, ignored: Set<string>): Message {
  let fit = message;
  if ((fit.reasoning !== undefined || fit.reasoning_details) && !takesReasoning(fit, accepted)) {
    ignored.add('messages.reasoning');
    const { reasoning, reasoning_details, ...rest } = fit;
    fit = rest;
  }
  if (fit.is_error && !accepted.fields.has('is_error')) {
    ignored.add('messages.is_error');
    const { is_error, ...rest } = fit;
    fit = rest;
  }
  if (Array.isArray(fit.content)) {
    const content = fittedContent(fit.content, accepted, ignored);
    if (content !== fit.content) fit = { ...fit, content };
  }
  if (fit.tool_calls) {
    const tool_calls = eachFitted(fit.tool_calls, call => fittedCall(call, accepted, ignored));
    if (tool_calls !== fit.tool_calls) fit = { ...fit, tool_calls };
  }
  return fit;
}

function fittedCall(call: ToolCall, { fields }: AcceptedMessages, ignored: Set<string>): ToolCall {
  const fit = fields.has('cache_control') ? call : unmarked(call, ignored);
  if (fit.extra_content === undefined || fields.has('extra_content')) return fit;
  ignored.add('messages.tool_calls.extra_content');
  const { extra_content, ...rest } = fit;
  return rest;
}

function takesReasoning({ tool_calls }: Message, { fields, send_reasoning }: AcceptedMessages): boolean {
  if (!fields.has('reasoning') || send_reasoning === 'never') return false;
  return send_reasoning === 'always' || tool_calls !== undefined;
}

function fittedContent(
  content: ContentPart[],
  { fields }: AcceptedMessages,
  ignored: Set<string>,
): string | ContentPart[] {
  if (!fields.has('image_url') && content.some(({ type }) => type === 'image_url'))
    throw invalidField('messages', 'images are not accepted by the upstream of this model.');
  const marked = fields.has('cache_control') ? content : eachFitted(content, part => unmarked(part, ignored));
  const isLost = (part: ContentPart): part is TextPart =>
    part.type === 'text' && worded.some(name => part[name] !== undefined && !fields.has(name));
  if (!marked.some(isLost)) return marked;
  const plain = marked.map(part => (isLost(part) ? inWords(part, fields) : part));
  // Plain texts are a string, which all servers and templates accept.
  const texts = plain.flatMap(part => (part.type === 'text' && !part.cache_control ? [part.text] : []));
  return texts.length === plain.length ? texts.join('\n') : plain;
}

/** What a part may have that its text says as well. */
const worded = ['tool_reference', 'native'] as const;

/** The part in words; a file or a sound in OpenAI's form, without which the question would be another. */
function inWords(
  { tool_reference, native, ...part }: TextPart,
  fields: AcceptedMessages['fields'],
): ContentPart {
  if (native?.format !== 'openai') return part;
  if (fields.has('file')) return native.item as unknown as ContentPart;
  throw invalidField('messages', 'files and audio are not accepted by the upstream of this model.');
}

function unmarked<T extends ContentPart | Tool | ToolCall>(given: T, ignored: Set<string>): T {
  if (given.cache_control === undefined) return given;
  ignored.add('cache_control');
  const { cache_control, ...rest } = given;
  return rest as T;
}

/** `given` with each element fitted; the same array if no element has changed. */
function eachFitted<T>(given: T[], fitOne: (one: T) => T): T[] {
  const fitted = given.map(one => fitOne(one));
  return fitted.every((one, at) => one === given[at]) ? given : fitted;
}
