import type { ChatRequest, Choice, Chunk, ChunkChoice, Delta, ReplyMessage, Usage } from '../canonical.ts';
import type { GatewayError } from '../errors.ts';
import { doneEvent, encodeEvent } from '../sse/encode.ts';
import { chatRequest, forwardedParameters, type ParsedChatRequest } from './chat-request.ts';
import type { Dialect, Identity, StreamRenderer } from './dialect.ts';
import { refusalOf } from './explain.ts';
import { setAsideUnknown, sharedRequest } from './request-fields.ts';

const knownFields = new Set(Object.keys(chatRequest.shape));

/** What reasoning may be called on the wire (protocol d3). */
const reasoningNames = {
  reasoning: ['reasoning'],
  reasoning_content: ['reasoning_content'],
  both: ['reasoning', 'reasoning_content'],
} as const;

export type ReasoningKey = keyof typeof reasoningNames;
type ReasoningNames = readonly string[];

/** `POST /v1/chat/completions` (spec 4.3, 2.3, 2.4; protocol d, m). */
export function chatCompletions({ reasoning_key }: { reasoning_key: ReasoningKey }): Dialect {
  const names = reasoningNames[reasoning_key];
  return {
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
        choices: reply.choices.map(choice => renderChoice(choice, names)),
        usage: reply.usage,
      });
    },

    renderStream: identity => new ChatStream(identity, names),
  };
}

function canonicalOf(from: ParsedChatRequest, body: Record<string, unknown>): ChatRequest {
  const request = sharedRequest(from, from.messages);
  // The newer name wins where both are given (protocol m3).
  const max_tokens = from.max_completion_tokens ?? from.max_tokens;
  if (max_tokens != null) request.max_tokens = max_tokens;
  if (from.max_completion_tokens != null)
    request.wording = { names: { max_tokens: 'max_completion_tokens' } };
  if (from.stop?.length) request.stop = from.stop;
  if (from.tools != null) request.tools = from.tools;
  if (from.n != null) request.n = from.n;
  for (const name in forwardedParameters) {
    const value = from[name as keyof typeof forwardedParameters];
    if (value != null) request.parameters[name] = value;
  }
  setAsideUnknown(request, body, knownFields);
  return request;
}

function renderChoice(choice: Choice, names: ReasoningNames): object {
  const { index, message, finish_reason, logprobs } = choice;
  const shown = renderMessage(message, names);
  return { index, message: shown, finish_reason, ...(logprobs != null && { logprobs }) };
}

/** The order of keys in which people read them; nothing that a stage left beside them. */
function renderMessage(
  { content, reasoning, tool_calls, refusal }: ReplyMessage,
  names: ReasoningNames,
): object {
  return {
    role: 'assistant',
    content,
    ...(reasoning !== undefined && named(reasoning, names)),
    ...(tool_calls && { tool_calls }),
    ...(refusal != null && { refusal }),
  };
}

const named = (reasoning: string, names: ReasoningNames): object =>
  Object.fromEntries(names.map(name => [name, reasoning]));

/** Chunks as in protocol 3.1: one id, one `created`, the model that was asked for. */
class ChatStream implements StreamRenderer {
  /** Everything before the choices is the same in every chunk, so it is encoded once. */
  readonly #head: string;
  readonly #names: ReasoningNames;

  constructor({ key, created, model }: Identity, names: ReasoningNames) {
    this.#names = names;
    this.#head =
      `{"id":${JSON.stringify(`chatcmpl-${key}`)},"object":"chat.completion.chunk","created":${created},` +
      `"model":${JSON.stringify(model)},"choices":`;
  }

  chunk({ choices, usage }: Chunk): string {
    const encoded =
      plainText(choices, this.#names) ?? JSON.stringify(choices.map(choice => renamed(choice, this.#names)));
    return encodeEvent(`${this.#head}${encoded}${usageField(usage)}}`);
  }

  error(error: GatewayError): string {
    return encodeEvent(JSON.stringify(error.envelope()));
  }

  end(): string {
    return doneEvent;
  }
}

const usageField = (usage: Usage | undefined): string => (usage ? `,"usage":${encodedUsage(usage)}` : '');

/** Of a running stream it is on every chunk, so it is not left to JSON.stringify where nothing but numbers is in it. */
function encodedUsage(usage: Usage): string {
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = usage;
  const { cached_tokens } = prompt_tokens_details;
  const isPlain =
    usage.completion_tokens_details === undefined &&
    Number.isFinite(prompt_tokens + completion_tokens + total_tokens + cached_tokens);
  if (!isPlain) return JSON.stringify(usage);
  return (
    `{"prompt_tokens":${prompt_tokens},"completion_tokens":${completion_tokens},"total_tokens":${total_tokens},` +
    `"prompt_tokens_details":{"cached_tokens":${cached_tokens}}}`
  );
}

/** Nearly every chunk is one more text of one choice, for which only the text has to be encoded. */
function plainText(choices: readonly ChunkChoice[], names: ReasoningNames): string | undefined {
  if (choices.length !== 1) return undefined;
  const { index, delta, finish_reason, logprobs } = choices[0]!;
  if (finish_reason !== null || logprobs !== undefined) return undefined;
  const kind = onlyKeyOf(delta);
  if (kind !== 'content' && kind !== 'reasoning') return undefined;
  const text = JSON.stringify(delta[kind]);
  const members = kind === 'content' ? `"content":${text}` : membersOf(text, names);
  return `[{"index":${index},"delta":{${members}},"finish_reason":null}]`;
}

function onlyKeyOf(delta: Delta): string | undefined {
  let only: string | undefined;
  for (const key in delta) {
    if (only !== undefined) return undefined;
    only = key;
  }
  return only;
}

const membersOf = (text: string, [first, second]: ReasoningNames): string =>
  second === undefined ? `"${first}":${text}` : `"${first}":${text},"${second}":${text}`;

/** The choice with its reasoning under the names of the wire. */
function renamed(choice: ChunkChoice, names: ReasoningNames): object {
  const { reasoning, ...delta } = choice.delta;
  if (reasoning === undefined || names === reasoningNames.reasoning) return choice;
  return { ...choice, delta: { ...delta, ...named(reasoning, names) } };
}
