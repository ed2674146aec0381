/**
 * The canonical form: an OpenAI chat completion request, reply and chunk. Dialects translate into it, adapters out of it,
 * stages see nothing else. The identity of a reply (`id`, `object`, `created`, `model`) is the dialect's business,
 * so it stands in none of these types.
 */

export interface TextPart {
  type: 'text';
  text: string;
}

export interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

/** A message. `content` is absent or null only on an assistant message that calls tools. */
export interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content?: string | TextPart[] | null;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
  name?: string;
}

export interface Tool {
  type: 'function';
  function: {
    name: string;
    description?: string;
    parameters?: Record<string, unknown>;
    [key: string]: unknown;
  };
}

/** A client's request, translated by its dialect. Fields that the client left out are absent, never null. */
export interface ChatRequest {
  model: string;
  messages: Message[];
  stream: boolean;
  temperature?: number;
  max_tokens?: number;
  stop?: string[];
  /** Stream options for the client; usage is always requested from the upstream. */
  stream_options?: { continuous_usage_stats?: boolean; include_usage?: boolean };
  tools?: Tool[];
  reasoning_effort?: string;
  reasoning_split?: boolean;
  metadata?: Record<string, string>;
  n?: number;
  /** Sampling parameters of the OpenAI format that are forwarded as they are. */
  parameters: Record<string, unknown>;
  /** Fields that the interface does not know. A provider forwards only those that its configuration names. */
  unknown: Record<string, unknown>;
  client?: ClientForm;
}

/** Parts of the client's own form that its dialect keeps for error messages and the reply. Stages can ignore it. */
export interface ClientForm {
  /** The client's names of fields that are called differently here, such as `max_output_tokens` for `max_tokens`. */
  readonly field_names?: Readonly<Record<string, string>>;
  /** Values that the reply repeats and no field here has, such as `instructions`, which are among the messages. */
  readonly echo?: Readonly<Record<string, unknown>>;
}

/** Tokens, cumulative over the whole exchange. `total = prompt + completion`. */
export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number };
  completion_tokens_details?: { reasoning_tokens?: number; [key: string]: unknown };
}

export interface ReplyMessage {
  role: 'assistant';
  content: string | null;
  reasoning?: string;
  tool_calls?: ToolCall[];
  refusal?: string | null;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

export interface Choice {
  index: number;
  message: ReplyMessage;
  finish_reason: FinishReason;
  logprobs?: unknown;
}

/** A whole reply. `usage` is absent where the upstream gave none. */
export interface Completion {
  choices: Choice[];
  usage?: Usage;
}

export interface ToolCallDelta {
  index: number;
  id?: string;
  type?: 'function';
  function?: { name?: string; arguments?: string };
}

export interface Delta {
  role?: 'assistant';
  content?: string | null;
  reasoning?: string;
  tool_calls?: ToolCallDelta[];
  refusal?: string | null;
}

export interface ChunkChoice {
  index: number;
  delta: Delta;
  finish_reason: FinishReason | null;
  logprobs?: unknown;
}

/** One piece of a streamed reply. A chunk without choices carries usage only. */
export interface Chunk {
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
): Usage {
  const usage: Usage = {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: { cached_tokens },
  };
  if (completion_tokens_details) usage.completion_tokens_details = completion_tokens_details;
  return usage;
}

/** The most tokens that are believed of one reply; sums of it stay exact. */
const max_token_count = 1e12;

/** A token count in an upstream's reply, rounded down; `undefined` for anything that cannot be one. */
export const tokenCount = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && value <= max_token_count ? Math.trunc(value) : undefined;

/** Text of a message, its parts joined. */
export function textOf(content: Message['content']): string {
  if (typeof content === 'string') return content;
  return content ? content.map(part => part.text).join('') : '';
}
