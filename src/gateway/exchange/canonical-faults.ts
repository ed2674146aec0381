import { isObject } from '../../common/json-object.ts';
import { type Chunk, type Completion, type FinishReason, max_token_count } from './canonical.ts';

/** What a whole reply must be, in words. */
export const reply_rule =
  'a reply has at least one choice, each with a message and a finish_reason (stop, length, tool_calls or content_filter), and usage as usageOf makes it, in whole numbers up to 1e12';

/** What a chunk must be, in words. */
export const chunk_rule =
  '{ choices: […], usage? }, each choice with a delta and a finish_reason (null before its end), and usage as usageOf makes it, in whole numbers up to 1e12';

/**
 * What a whole reply has or lacks that it cannot be sent or billed, in words after `a reply with`; `undefined` if it can. The usage of `checked`
 * is not looked at again.
 */
export function replyFault(reply: unknown, checked?: Completion): string | undefined {
  const { choices, usage } = (reply ?? {}) as Partial<Completion>;
  if (!Array.isArray(choices)) return 'no list of choices';
  if (choices.length === 0) return 'no choices';
  for (const choice of choices) {
    if (!isObject(choice?.message)) return 'a choice without a message';
    if (!isText(choice.message.content)) return `content that is ${shown(choice.message.content)}`;
    if (!isFinishReason(choice.finish_reason)) return `the finish_reason ${shown(choice.finish_reason)}`;
  }
  return usage === undefined || usage === checked?.usage ? undefined : usageFault(usage);
}

/** What `chunk` is, in a few words, if it cannot be sent or counted; `undefined` if it can. Cheap: it sees every chunk of every stage. */
export function chunkFault(chunk: unknown): string | undefined {
  if (typeof chunk !== 'object') return chunk === undefined ? 'nothing' : `a ${typeof chunk}`;
  const { choices, usage } = (chunk ?? {}) as Partial<Chunk>;
  if (!Array.isArray(choices)) return 'an object without a list of choices';
  for (let at = 0; at < choices.length; at++) {
    const choice = choices[at];
    if (typeof choice?.delta !== 'object' || choice.delta === null) return 'a choice without a delta';
    const { finish_reason } = choice;
    if (finish_reason !== null && !isFinishReason(finish_reason))
      return `a chunk with the finish_reason ${shown(finish_reason)}`;
  }
  const fault = usage === undefined ? undefined : usageFault(usage);
  return fault && `a chunk with ${fault}`;
}

/** What stands in `usage` that cannot be billed, in a few words; `undefined` if it can be, or is absent. */
function usageFault(usage: unknown): string | undefined {
  if (usage === undefined || usage === null) return undefined;
  if (!isObject(usage)) return `usage that is ${shown(usage)}`;
  const { prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details } = usage;
  if (!isCount(prompt_tokens)) return `the prompt_tokens ${shown(prompt_tokens)}`;
  if (!isCount(completion_tokens)) return `the completion_tokens ${shown(completion_tokens)}`;
  if (!isObject(prompt_tokens_details)) return 'usage without prompt_tokens_details';
  const { cached_tokens, cache_creation_tokens = 0 } = prompt_tokens_details;
  if (!isCount(cached_tokens)) return `the cached_tokens ${shown(cached_tokens)}`;
  if (!isCount(cache_creation_tokens)) return `the cache_creation_tokens ${shown(cache_creation_tokens)}`;
  if (completion_tokens_details === undefined) return undefined;
  if (!isObject(completion_tokens_details))
    return `completion_tokens_details that are ${shown(completion_tokens_details)}`;
  const { reasoning_tokens = 0 } = completion_tokens_details;
  return isCount(reasoning_tokens) ? undefined : `the reasoning_tokens ${shown(reasoning_tokens)}`;
}

const finish_reasons: Record<FinishReason, true> = {
  stop: true,
  length: true,
  tool_calls: true,
  content_filter: true,
};

const isFinishReason = (value: unknown): boolean =>
  typeof value === 'string' && Object.hasOwn(finish_reasons, value);

const isText = (content: unknown): boolean =>
  typeof content === 'string' || content === null || content === undefined;

const isCount = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max_token_count;

/** A value in a few words: what a stage has put there goes to the log, but not all of it. */
const shown = (value: unknown): string =>
  typeof value === 'string'
    ? JSON.stringify(value.slice(0, 40))
    : typeof value === 'object' && value !== null
      ? 'an object'
      : String(value);
