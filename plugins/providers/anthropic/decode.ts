import {
  type Completion,
  type FinishReason,
  isObject,
  type Json,
  newCallId,
  refusal,
  type ToolCall,
  UpstreamError,
  type Usage,
  usageOf,
} from '../../../src/plugin.ts';
import { type Block, isBlock, textOf } from './blocks.ts';
import { outlined, type ThinkingMemory } from './history.ts';

/** Joins blocks of thinking, which are one text for the client. */
export const thinking_separator = '\n';

/** Messages about money, for which the operator is responsible although the API answers 400. */
const billing = /credit balance|usage limit|spend(?:ing)? limit|billing/i;

/** Standard status of an error reply: the API answers 400 also if the account has no credit. */
export function errorStatus(status: number, body: unknown): number {
  if (status !== 400 || !isObject(body) || !isObject(body.error)) return status;
  return billing.test(textOf(body.error.message)) ? 402 : status;
}

/** Decodes a whole message; stores the thinking behind tool calls in `memory`. */
export function decodeReply(body: unknown, memory: ThinkingMemory): Completion {
  const told = UpstreamError.in(body);
  if (told) throw told;
  if (!isObject(body) || !Array.isArray(body.content))
    throw refusal('provider_invalid', { cause: new Error('a message without content') });
  const finish_reason = finishReasonOf(body.stop_reason);
  if (!finish_reason)
    throw refusal('provider_invalid', { cause: new Error('a message without stop_reason') });
  const blocks = body.content.filter(isBlock);
  const tool_calls = blocks.filter(({ type }) => type === 'tool_use').map(toolCallOf);
  memory.keep(
    tool_calls,
    blocks.flatMap(block => outlined(block) ?? []),
  );
  const text = joined(blocks, 'text', 'text', '');
  const thinking = joined(blocks, 'thinking', 'thinking', thinking_separator);
  const declined = refusalIn(body.stop_details);
  const usage = new RunningUsage().seen(body.usage);
  return {
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text === '' && tool_calls.length > 0 ? null : text,
          ...(thinking !== '' && { reasoning: thinking }),
          ...(tool_calls.length > 0 && { tool_calls }),
          ...(declined !== undefined && { refusal: declined }),
        },
        finish_reason,
      },
    ],
    ...(usage && { usage }),
  };
}

function joined(blocks: readonly Block[], type: string, key: string, separator: string): string {
  const texts = blocks.filter(block => block.type === type).map(block => textOf(block[key]));
  return texts.filter(text => text !== '').join(separator);
}

function toolCallOf({ id, name, input }: Block): ToolCall {
  const called = { name: textOf(name), arguments: JSON.stringify(isObject(input) ? input : {}) };
  return { id: textOf(id) || newCallId(), type: 'function', function: called };
}

/** Canonical finish reason (protocol d12). `undefined`: not ended yet. */
export function finishReasonOf(reason: unknown): FinishReason | undefined {
  if (typeof reason !== 'string' || reason === '') return undefined;
  switch (reason) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length';
    case 'tool_use':
      return 'tool_calls';
    case 'refusal':
      return 'content_filter';
    default:
      // `end_turn`, `stop_sequence`, and `pause_turn`, which only the API's own tools cause.
      return 'stop';
  }
}

/** The API's explanation of a refusal, if any. */
export const refusalIn = (details: unknown): string | undefined =>
  isObject(details) && details.type === 'refusal' ? textOf(details.explanation) || undefined : undefined;

/** Usage merged from several events: counts of a stream are cumulative, and later events may omit earlier ones. */
export class RunningUsage {
  #input = 0;
  #cached = 0;
  #cache_creation = 0;
  #output = 0;
  #thinking: number | undefined;

  /** Adds `value` and returns the usage so far; `undefined` if it is not usage. */
  seen(value: unknown): Usage | undefined {
    if (!isObject(value)) return undefined;
    const { input_tokens, output_tokens } = value;
    if (count(input_tokens) === undefined && count(output_tokens) === undefined) return undefined;
    this.#input = Math.max(this.#input, count(input_tokens) ?? 0);
    this.#cached = Math.max(this.#cached, count(value.cache_read_input_tokens) ?? 0);
    this.#cache_creation = Math.max(this.#cache_creation, count(value.cache_creation_input_tokens) ?? 0);
    this.#output = Math.max(this.#output, count(output_tokens) ?? 0);
    const { output_tokens_details: details } = value;
    if (isObject(details)) this.#thinking = count((details as Json).thinking_tokens) ?? this.#thinking;
    return usageOf(
      this.#input + this.#cached + this.#cache_creation,
      this.#output,
      this.#cached,
      this.#thinking === undefined ? undefined : { reasoning_tokens: this.#thinking },
    );
  }
}

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.trunc(value) : undefined;
