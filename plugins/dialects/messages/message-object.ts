import {
  CallIds,
  type Choice,
  type Completion,
  exceeds,
  type FinishReason,
  type GatewayError,
  type Identity,
  isObject,
  max_arguments_size,
  refusal,
  type ToolCall,
  type Usage,
} from '../../../src/plugin.ts';
import { answerBlocks } from './answer-blocks.ts';
import { thinkingBlocks } from './reasoning-details.ts';

const json = JSON.stringify;

/** The members of a message that are known before its first block. */
export const messageHead = ({ key, model }: Identity) => ({
  id: `msg_${key}`,
  type: 'message',
  role: 'assistant',
  model,
});

/** Ids of the calls of the message with this key. */
export const callIdsOf = (key: string): CallIds => new CallIds((_given, count) => `toolu_${key}_${count}`);

/** The JSON of a whole reply. This format has one choice only. */
export function renderMessage(identity: Identity, { choices, usage }: Completion): string {
  const choice = choices[0]!;
  const { reasoning, reasoning_details, tool_calls = [] } = choice.message;
  const ids = callIdsOf(identity.key);
  const blocks = thinkingBlocks(reasoning, reasoning_details).map(block => json(block));
  for (const block of answerBlocks(choice.message)) blocks.push(json(block));
  for (const call of tool_calls) blocks.push(toolUse(call, ids, choice.finish_reason));
  const end = json({ ...endOf(choice, choice.message.refusal), usage: usage ? usageFields(usage) : null });
  return `${json(messageHead(identity)).slice(0, -1)},"content":[${blocks.join(',')}],${end.slice(1)}`;
}

/** Why a message ended. A refusal's words are not among the content. */
export function endOf(
  { finish_reason, stop_sequence }: Pick<Choice, 'finish_reason' | 'stop_sequence'>,
  refused: string | null | undefined,
): object {
  const isRefused = Boolean(refused) || finish_reason === 'content_filter';
  const isStopped = finish_reason === 'stop' && stop_sequence !== undefined;
  return {
    stop_reason: isRefused ? 'refusal' : isStopped ? 'stop_sequence' : stop_reasons[finish_reason],
    stop_sequence: isStopped ? stop_sequence : null,
    ...(isRefused && { stop_details: { type: 'refusal', category: null, explanation: refused || null } }),
  };
}

const stop_reasons: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

/** Usage in this format, whose input tokens are those that no cache has read or written. */
export function usageFields({
  prompt_tokens,
  completion_tokens,
  prompt_tokens_details: { cached_tokens, cache_creation_tokens = 0 },
  completion_tokens_details,
}: Usage): object {
  const { reasoning_tokens: thinking_tokens, web_search_requests } = completion_tokens_details ?? {};
  return {
    input_tokens: Math.max(0, prompt_tokens - cached_tokens - cache_creation_tokens),
    cache_creation_input_tokens: cache_creation_tokens,
    cache_read_input_tokens: cached_tokens,
    output_tokens: completion_tokens,
    ...(thinking_tokens !== undefined && { output_tokens_details: { thinking_tokens } }),
    ...(web_search_requests !== undefined && { server_tool_use: { web_search_requests } }),
  };
}

/** A call with its arguments as the model wrote them: parsed and written again, large numbers would lose digits. */
function toolUse(
  { id, function: { name, arguments: text } }: ToolCall,
  ids: CallIds,
  finish: FinishReason,
): string {
  const block = json({ type: 'tool_use', id: ids.unique(id), name });
  return `${block.slice(0, -1)},"input":${inputOf(text, finish === 'length')}}`;
}

/** The arguments if they are a JSON object. A call that was cut off has none; another one would be made with wrong arguments. */
function inputOf(text: string, isCut: boolean): string {
  if (text.trim() === '') return '{}';
  if (!exceeds(text, max_arguments_size)) {
    try {
      if (isObject(JSON.parse(text))) return text;
    } catch {
      // Reported below.
    }
  }
  if (isCut) return '{}';
  throw refusal('provider_invalid', { cause: new Error('arguments of a tool call are no JSON object') });
}

/** Anthropic's error types by status. */
const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  524: 'timeout_error',
  529: 'overloaded_error',
};

/** By this code Anthropic's SDKs know to send the whole conversation, without the field `thread`. */
const withoutThread = { details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } };

/** The JSON of Anthropic's error envelope, also the data of an `error` event. */
export const anthropicErrorBody = ({ status, message, param }: GatewayError): string => {
  const error = { type: typeOf(status), message, ...(param === 'thread' && withoutThread) };
  return JSON.stringify({ type: 'error', error });
};

const typeOf = (status: number): string =>
  types[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
