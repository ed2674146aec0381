import type { SseEvent } from '../sse/parse.ts';

/**
 * The canonical form: an OpenAI chat completion request, reply and chunk. Dialects translate into it, adapters out of it,
 * stages see nothing else. The identity of a reply (`id`, `object`, `created`, `model`) is the dialect's business,
 * so it stands in none of these types.
 */

/** A mark that the prompt up to here should be cached, in Anthropic's form; sent only by adapters that declare it. */
export interface CacheControl {
  /** Always `ephemeral`. */
  type: 'ephemeral';
  /** How long it is kept, such as `5m` or `1h`; absent for the provider's default. */
  ttl?: string;
}

/** What only some APIs have, such as the search of a hosted tool or a file, in the form of the one that made it. */
export interface NativeItem {
  /** Whose form it is: `anthropic`, `openai-responses` or, of a file or sound, `openai`. */
  format: string;
  /** The item, or block of content, as it was given. */
  item: Record<string, unknown>;
  /** In a reply: characters of its text that precede the item, or end with what it cites. */
  at?: number;
}

/** A text among the parts of a message. */
export interface TextPart {
  /** Always `text`. */
  type: 'text';
  /** The text itself. */
  text: string;
  /** The tool to which a part of a tool's result refers, as Anthropic has it; the text says so in words. */
  tool_reference?: string;
  /** What the text says in words, for upstreams that speak that form. */
  native?: NativeItem;
  /** Cache the prompt up to this part. */
  cache_control?: CacheControl;
}

/** An image among the parts of a message, for models whose `architecture.modality` takes images. */
export interface ImagePart {
  /** Always `image_url`. */
  type: 'image_url';
  /** Where it is: an `https:` address or a `data:` URL in base64, and how closely to look at it. */
  image_url: { url: string; detail?: 'auto' | 'low' | 'high' };
  /** Cache the prompt up to this part. */
  cache_control?: CacheControl;
}

/** A part of a message whose content is a list. */
export type ContentPart = TextPart | ImagePart;

/**
 * Reasoning as one provider signed or encrypted it, in OpenRouter's form: `reasoning.text` with `text` and `signature`,
 * `reasoning.summary` with `summary`, `reasoning.encrypted` with `data`. Goes back to the provider unchanged.
 */
export interface ReasoningDetail {
  /** Kind of detail. */
  type: string;
  /** Whose form it is, such as `anthropic-claude-v1`. */
  format?: string | null;
  /** Text of the reasoning. */
  text?: string | null;
  /** Signature of the text. */
  signature?: string | null;
  /** Summary of the reasoning. */
  summary?: string | null;
  /** Encrypted reasoning. */
  data?: string | null;
  [key: string]: unknown;
}

/** A call of a tool by the model, whole. */
export interface ToolCall {
  /** Unique in the conversation; the tool's result names it. */
  id: string;
  /** Always `function`. */
  type: 'function';
  /** The function to call; `arguments` is JSON as text, as the model wrote it. */
  function: { name: string; arguments: string };
  /** What the provider has added and needs back, such as Gemini's signature of its thoughts; unread here. */
  extra_content?: Record<string, unknown>;
  /** Cache the prompt up to this call. */
  cache_control?: CacheControl;
}

/** The most characters that the JSON of a call's `extra_content` has. */
export const max_extra_characters = 65_536;

/** A message. `content` is absent or null only on an assistant message that calls tools. */
export interface Message {
  /** Who speaks; `tool` is the result of a call. */
  role: 'system' | 'user' | 'assistant' | 'tool';
  /** Text, or its parts. */
  content?: string | ContentPart[] | null;
  /** Reasoning of an assistant message that the client sends back. Adapters get it only if they declare it. */
  reasoning?: string;
  /** The same reasoning, as its provider signed or encrypted it; absent if the client had none. */
  reasoning_details?: ReasoningDetail[];
  /** Calls of an assistant message; absent if it made none. */
  tool_calls?: ToolCall[];
  /** The call whose result a `tool` message is. */
  tool_call_id?: string;
  /** True if a `tool` message says how its call failed. Adapters get it only if they declare it. */
  is_error?: true;
  /** The name of the participant, if the client gave one. */
  name?: string;
  /** Token ids in place of a text, which no stage can read; only in other operations than chat, of chains whose stages all take them. */
  tokens?: number[];
}

/** A tool that the model may call. */
export interface Tool {
  /** Always `function`. */
  type: 'function';
  /** Its name, what it is for, and the JSON Schema of its arguments. */
  function: {
    name: string;
    description?: string;
    parameters?: Record<string, unknown>;
    [key: string]: unknown;
  };
  /** Cache the prompt up to this tool. */
  cache_control?: CacheControl;
}

/** The most choices of a request, and of its reply: OpenAI's own limit. */
export const max_choices = 128;

/** Turns one stream's events into canonical chunks; keeps that stream's state. */
export interface StreamDecoder {
  /** Decodes one event to chunks; to none if it is unknown. Throws an UpstreamError for an error in the stream. */
  decode(event: SseEvent): Chunk[];
  /** True once every choice that began has its finish reason. A stream that ends earlier was cut off. */
  readonly complete: boolean;
  /** True after the format's own end event, in formats without `[DONE]`. */
  readonly done?: boolean;
}

/** What is asked for, if no chat. All texts stand in `messages`, each with its field as `name`: what stages make of them there is sent. */
export interface Operation {
  /** As models and adapters list it; `gen_ai.operation.name` on spans. */
  readonly name: string;
  /** Path below `base_url` and body, for the upstream's `model`; of `unknown` it may have `extraParameters`. */
  encode(
    request: ChatRequest,
    target: { model: string; extraParameters: readonly string[] },
  ): { path: string; body: Record<string, unknown> };
  /** As that of an adapter. What is no text is the `output` of a message. */
  decodeReply(body: unknown): Completion;
  /** As that of an adapter; absent if `stream` is never true. */
  openStream?(): StreamDecoder;
}

/** A client's request, translated by its dialect. Fields that the client left out are absent, never null. */
export interface ChatRequest {
  /** Catalog id of the model that the client wants; an alias of it is replaced by the stage `aliases`. */
  model: string;
  /** The conversation, oldest message first. */
  messages: Message[];
  /** Whether the client asked for a stream. */
  stream: boolean;
  /** Sampling temperature, 0 to 2. */
  temperature?: number;
  /** The most tokens to generate, reasoning included. */
  max_tokens?: number;
  /** Texts at which generation ends. */
  stop?: string[];
  /** Stream options for the client; usage is always requested from the upstream. */
  stream_options?: { continuous_usage_stats?: boolean; include_usage?: boolean };
  /** Tools that the model may call. */
  tools?: Tool[];
  /** One of the model's effort levels. */
  reasoning_effort?: string;
  /** Whether reasoning is separated from the answer; absent means yes where the model reasons. */
  reasoning_split?: boolean;
  /** The client's own labels; sent upstream only by the option `forward_metadata`. */
  metadata?: Record<string, string>;
  /** Number of choices, at most `max_choices`; absent means 1. */
  n?: number;
  /**
   * The parameters of the OpenAI format that have no field here, under their own names, forwarded as they are: `top_p`,
   * `presence_penalty`, `seed`, `response_format`, `tool_choice`, `logprobs`, `user` and others.
   */
  parameters: Record<string, unknown>;
  /** Fields that the interface does not know. A provider forwards only those that its configuration names. */
  unknown: Record<string, unknown>;
  /** What the dialect keeps of the client's own form. */
  client?: ClientForm;
  /** Absent for a chat completion. */
  operation?: Operation;
}

/** Parts of the client's own form that its dialect keeps for error messages and the reply. Stages can ignore it. */
export interface ClientForm {
  /** The client's names of fields that are called differently here, such as `max_output_tokens` for `max_tokens`. */
  readonly field_names?: Readonly<Record<string, string>>;
  /** Values that the reply repeats and no field here has, such as `instructions`, which are among the messages. */
  readonly echo?: Readonly<Record<string, unknown>>;
  /** What the dialect itself needs to write the reply in the client's form; nothing else reads it. */
  readonly kept?: unknown;
}

/** Tokens, cumulative over the whole exchange. `total = prompt + completion`. */
export interface Usage {
  /** Tokens of the prompt, cached ones included. */
  prompt_tokens: number;
  /** Tokens that were generated, reasoning included. */
  completion_tokens: number;
  /** The sum of both. */
  total_tokens: number;
  /** Of the prompt, the tokens that the provider had cached, and those that it has cached now if it says so. */
  prompt_tokens_details: { cached_tokens: number; cache_creation_tokens?: number };
  /** The upstream's own breakdown; absent if it gave none. */
  completion_tokens_details?: { reasoning_tokens?: number; [key: string]: unknown };
  /** True if `completion_tokens` counts only some of the choices; the gateway then estimates the completion. */
  is_partial?: true;
}

/** What a reply may have beside text and calls; in a delta each whole, in its place in the stream. */
export interface ReplyExtras {
  /** Sources of the answer, in OpenAI's form: `{ type: 'url_citation', url_citation: { url, title, start_index, end_index } }`. */
  annotations?: Record<string, unknown>[];
  /** Images that the model made, in OpenRouter's form. */
  images?: ImagePart[];
  /** What hosted tools did, in the form of their API; not shown in chat completions. */
  native?: NativeItem[];
}

/** The message of a whole reply. */
export interface ReplyMessage extends ReplyExtras {
  /** Always `assistant`. */
  role: 'assistant';
  /** The answer; null if there are only tool calls. */
  content: string | null;
  /** The reasoning before the answer; absent without any. */
  reasoning?: string;
  /** The same reasoning, as the provider signed or encrypted it; not shown in chat completions. */
  reasoning_details?: ReasoningDetail[];
  /** Calls of tools; absent without any. */
  tool_calls?: ToolCall[];
  /** The text with which the model refused; absent or null if it did not. */
  refusal?: string | null;
  /** Result of another operation that is no text, such as embeddings. */
  output?: unknown;
}

/** Why a choice ended. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** One of the answers of a whole reply. */
export interface Choice {
  /** Position among the choices of the reply, from 0. */
  index: number;
  /** What the model said. */
  message: ReplyMessage;
  /** Why it ended. */
  finish_reason: FinishReason;
  /** The stop sequence at which it ended, if the provider says so. */
  stop_sequence?: string;
  /** The upstream's own word for it, if that is none that is known; it is logged and counted, and never sent. */
  native_finish_reason?: string;
  /** Log probabilities of the tokens, in OpenAI's form; absent unless the client asked for them. */
  logprobs?: unknown;
}

/** A whole reply. `usage` is absent where the upstream gave none. */
export interface Completion {
  /** At least one. */
  choices: Choice[];
  /** Tokens of all choices together. */
  usage?: Usage;
}

/** A piece of a tool call. */
export interface ToolCallDelta {
  /** Position among the calls of the choice, from 0. */
  index: number;
  /** With the first piece of the call. */
  id?: string;
  /** With the first piece of the call. */
  type?: 'function';
  /** The name comes with the first piece, the arguments in pieces. */
  function?: { name?: string; arguments?: string };
  /** As in a whole call; with one of its pieces, whole. */
  extra_content?: Record<string, unknown>;
}

/** What a chunk adds to the message of a choice. */
export interface Delta extends ReplyExtras {
  /** With the first piece of a choice. */
  role?: 'assistant';
  /** A piece of the answer. */
  content?: string | null;
  /** A piece of the reasoning. */
  reasoning?: string;
  /** Signed or encrypted reasoning, each detail whole, after the reasoning to which it belongs. */
  reasoning_details?: ReasoningDetail[];
  /** Pieces of tool calls. */
  tool_calls?: ToolCallDelta[];
  /** A piece of a refusal. */
  refusal?: string | null;
}

/** The part of a chunk that belongs to one choice. */
export interface ChunkChoice {
  /** Position among the choices of the reply, from 0. */
  index: number;
  /** What is added. */
  delta: Delta;
  /** Why the choice ended, with its last piece; null before. */
  finish_reason: FinishReason | null;
  /** The stop sequence at which it ended, with its last piece, if the provider says so. */
  stop_sequence?: string;
  /** The upstream's own word for it, if that is none that is known; it is logged and counted, and never sent. */
  native_finish_reason?: string;
  /** Log probabilities of the tokens, in OpenAI's form; absent unless the client asked for them. */
  logprobs?: unknown;
}

/** One piece of a streamed reply. A chunk without choices carries usage only. */
export interface Chunk {
  /** At most one piece for each choice. */
  choices: ChunkChoice[];
  /** Cumulative over the exchange and all its choices, also where the upstream counts per choice. */
  usage?: Usage;
}

/** Usage with `total_tokens` and the details that the interface always shows. */
export function usageOf(
  prompt_tokens: number,
  completion_tokens: number,
  cached_tokens = 0,
  completion_tokens_details?: Usage['completion_tokens_details'],
  cache_creation_tokens?: number,
): Usage {
  const usage: Usage = {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details:
      cache_creation_tokens === undefined ? { cached_tokens } : { cached_tokens, cache_creation_tokens },
  };
  if (completion_tokens_details) usage.completion_tokens_details = completion_tokens_details;
  return usage;
}

/** The most tokens that are believed of one reply; sums of it stay exact. */
export const max_token_count = 1e12;

/** A token count in an upstream's reply, rounded down; `undefined` for anything that cannot be one. */
export const tokenCount = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && value <= max_token_count ? Math.trunc(value) : undefined;

/** Text of a message, its text parts joined. */
export function textOf(content: Message['content']): string {
  if (typeof content === 'string') return content;
  return content ? content.map(part => (part.type === 'text' ? part.text : '')).join('') : '';
}

/** The details without those that can be read, which say the reasoning again; undefined if none is left. */
export function encryptedDetails(details: readonly ReasoningDetail[]): ReasoningDetail[] | undefined {
  const encrypted = details.filter(({ text, summary }) => !text && !summary);
  return encrypted.length > 0 ? encrypted : undefined;
}

/** Number of images in a message. */
export const imagesIn = (content: Message['content']): number =>
  Array.isArray(content) ? content.filter(({ type }) => type === 'image_url').length : 0;
