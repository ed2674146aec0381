import type { ChatRequest, Choice, Chunk, ChunkChoice, Delta, ReplyMessage, Usage } from '../canonical.ts';
import type { GatewayError } from '../errors.ts';
import { doneEvent, encodeEvent } from '../sse/encode.ts';
import { chatRequest, forwardedParameters, type ParsedChatRequest } from './chat-request.ts';
import type { Dialect, Identity, StreamRenderer } from './dialect.ts';
import { refusalOf } from './explain.ts';

const knownFields = new Set(Object.keys(chatRequest.shape));

/** `POST /v1/chat/completions` (spec 4.3, 2.3, 2.4; protocol d, m). */
export const chatCompletions: Dialect = {
  parse(body) {
    const parsed = chatRequest.safeParse(body);
    if (!parsed.success) throw refusalOf(parsed.error, body);
    return canonicalOf(parsed.data, body);
  },

  renderReply(identity, reply) {
    return JSON.stringify({
      id: `chatcmpl-${identity.key}`,
      object: 'chat.completion',
      created: identity.created,
      model: identity.model,
      choices: reply.choices.map(renderChoice),
      usage: reply.usage,
    });
  },

  renderStream: identity => new ChatStream(identity),
};

function canonicalOf(from: ParsedChatRequest, body: Record<string, unknown>): ChatRequest {
  const request: ChatRequest = {
    model: from.model,
    messages: from.messages,
    stream: from.stream ?? false,
    parameters: {},
    unknown: {},
  };
  // The newer name wins where both are given (protocol m3).
  const max_tokens = from.max_completion_tokens ?? from.max_tokens;
  if (max_tokens != null) request.max_tokens = max_tokens;
  if (from.max_completion_tokens != null) request.max_tokens_name = 'max_completion_tokens';
  if (from.temperature != null) request.temperature = from.temperature;
  if (from.stop?.length) request.stop = from.stop;
  if (from.stream_options != null) request.stream_options = streamOptionsOf(from.stream_options);
  if (from.tools != null) request.tools = from.tools;
  if (from.reasoning_effort != null) request.reasoning_effort = from.reasoning_effort;
  if (from.reasoning_split != null) request.reasoning_split = from.reasoning_split;
  // Whether the values are strings is for `validation` to say, together with the other limits of metadata.
  if (from.metadata != null) request.metadata = from.metadata as Record<string, string>;
  if (from.n != null) request.n = from.n;
  for (const name in forwardedParameters) {
    const value = from[name as keyof typeof forwardedParameters];
    if (value != null) request.parameters[name] = value;
  }
  for (const name of Object.keys(body)) {
    if (knownFields.has(name) || body[name] === null) continue;
    // Defined, not assigned: assigning `__proto__` would change the object's prototype (protocol m15).
    Object.defineProperty(request.unknown, name, {
      value: body[name],
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return request;
}

function streamOptionsOf(
  from: NonNullable<ParsedChatRequest['stream_options']>,
): NonNullable<ChatRequest['stream_options']> {
  return {
    ...(from.continuous_usage_stats != null && { continuous_usage_stats: from.continuous_usage_stats }),
    ...(from.include_usage != null && { include_usage: from.include_usage }),
  };
}

function renderChoice({ index, message, finish_reason, logprobs }: Choice): object {
  return { index, message: renderMessage(message), finish_reason, ...(logprobs != null && { logprobs }) };
}

/** The order of keys in which people read them; nothing that a stage left beside them. */
function renderMessage({ content, reasoning, tool_calls, refusal }: ReplyMessage): object {
  return {
    role: 'assistant',
    content,
    ...(reasoning !== undefined && { reasoning }),
    ...(tool_calls && { tool_calls }),
    ...(refusal != null && { refusal }),
  };
}

/** Chunks as in protocol 3.1: one id, one `created`, the model that was asked for. */
class ChatStream implements StreamRenderer {
  /** Everything before the choices is the same in every chunk, so it is encoded once. */
  readonly #head: string;

  constructor({ key, created, model }: Identity) {
    this.#head =
      `{"id":${JSON.stringify(`chatcmpl-${key}`)},"object":"chat.completion.chunk","created":${created},` +
      `"model":${JSON.stringify(model)},"choices":`;
  }

  chunk(chunk: Chunk): string {
    const choices = plainText(chunk.choices) ?? JSON.stringify(chunk.choices);
    return encodeEvent(`${this.#head}${choices}${usageField(chunk.usage)}}`);
  }

  error(error: GatewayError): string {
    return encodeEvent(JSON.stringify(error.envelope()));
  }

  end(): string {
    return doneEvent;
  }
}

const usageField = (usage: Usage | undefined): string => (usage ? `,"usage":${JSON.stringify(usage)}` : '');

/** Nearly every chunk is one more text of one choice, for which only the text has to be encoded. */
function plainText(choices: readonly ChunkChoice[]): string | undefined {
  if (choices.length !== 1) return undefined;
  const { index, delta, finish_reason, logprobs } = choices[0]!;
  if (finish_reason !== null || logprobs !== undefined) return undefined;
  const [kind, ...others] = Object.keys(delta) as (keyof Delta)[];
  if (others.length > 0 || (kind !== 'content' && kind !== 'reasoning')) return undefined;
  return `[{"index":${index},"delta":{"${kind}":${JSON.stringify(delta[kind])}},"finish_reason":null}]`;
}
