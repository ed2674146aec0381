import { isObject } from '../../common/json-object.ts';
import type { Chunk, Completion, Usage } from '../../gateway/exchange/canonical.ts';
import type { Difference } from '../difference.ts';

const finishReasons: readonly unknown[] = ['stop', 'length', 'tool_calls', 'content_filter'];

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
/** An array with one element at a greater index takes long to walk through. */
const isIndex = (value: unknown): boolean => isCount(value) && Number(value) <= 65_535;
const index_range = 'an integer from 0 to 65535';
const isAbsent = (value: unknown): boolean => value === undefined || value === null;
const isText = (value: unknown): boolean => typeof value === 'string';

/** One requirement: the field's name, whether it is met, what is accepted, the value. */
type Requirement = readonly [what: string, isMet: boolean, accepted: string, value: unknown];

const firstUnmet = (requirements: Iterable<Requirement>): Difference | undefined => {
  for (const [what, isMet, expected, got] of requirements) if (!isMet) return { what, expected, got };
  return undefined;
};

/** Where a chunk is not canonical. */
export const chunkFault = (chunk: Chunk): Difference | undefined => firstUnmet(ofChunk(chunk));

/** Where a whole reply is not canonical. */
export const replyFault = (reply: Completion): Difference | undefined => firstUnmet(ofReply(reply));

function* ofChunk(chunk: unknown): Generator<Requirement> {
  const choices = isObject(chunk) ? chunk.choices : undefined;
  yield ['choices of a chunk', Array.isArray(choices), 'an array', choices];
  for (const choice of choices as unknown[]) {
    yield ['a choice of a chunk', isObject(choice), 'an object', choice];
    const { index, delta, finish_reason } = choice as Chunk['choices'][number];
    yield ['index of a choice', isIndex(index), index_range, index];
    const isEnd = finish_reason === null || finishReasons.includes(finish_reason);
    yield ['finish_reason', isEnd, `null or one of ${finishReasons.join(', ')}`, finish_reason];
    yield ['delta', isObject(delta), 'an object', delta];
    yield ['content of a delta', isAbsent(delta.content) || isText(delta.content), 'text', delta.content];
    const { reasoning, refusal } = delta;
    yield ['reasoning of a delta', reasoning === undefined || isText(reasoning), 'text', reasoning];
    yield ['refusal of a delta', isAbsent(refusal) || isText(refusal), 'text', refusal];
    yield* ofDetails(delta.reasoning_details);
    yield* ofCallDeltas(delta.tool_calls);
  }
  yield* ofUsage((chunk as Chunk).usage);
}

function* ofDetails(details: unknown): Generator<Requirement> {
  if (details === undefined) return;
  const isRight = Array.isArray(details) && details.every(one => isObject(one) && isText(one.type));
  yield ['reasoning_details', isRight, 'an array of objects with a type', details];
}

function* ofCallDeltas(calls: unknown): Generator<Requirement> {
  if (calls === undefined) return;
  yield ['tool_calls of a delta', Array.isArray(calls), 'an array', calls];
  for (const call of calls as unknown[]) {
    yield ['a tool call delta', isObject(call), 'an object', call];
    const {
      index,
      id,
      function: called,
    } = call as NonNullable<Chunk['choices'][0]['delta']['tool_calls']>[0];
    yield ['index of a tool call', isIndex(index), index_range, index];
    yield ['id of a tool call', id === undefined || (isText(id) && id !== ''), 'text that is not empty', id];
    const { name, arguments: text } = called ?? {};
    yield ['name of a tool call', name === undefined || isText(name), 'text', name];
    yield ['arguments of a tool call', text === undefined || isText(text), 'JSON text', text];
  }
}

function* ofReply(reply: unknown): Generator<Requirement> {
  const choices = isObject(reply) ? reply.choices : undefined;
  const isThere = Array.isArray(choices) && choices.length > 0;
  yield ['choices of a reply', isThere, 'an array that is not empty', choices];
  for (const { index, message, finish_reason } of choices as Completion['choices']) {
    yield ['index of a choice', isIndex(index), index_range, index];
    const isEnd = finishReasons.includes(finish_reason);
    yield ['finish_reason', isEnd, `one of ${finishReasons.join(', ')}`, finish_reason];
    yield ['message', isObject(message), 'an object', message];
    const { role, content, reasoning, refusal, tool_calls } = message;
    yield ['role of a message', role === 'assistant', 'assistant', role];
    const isContent = isText(content) || (content === null && tool_calls !== undefined);
    yield ['content of a message', isContent, 'text, or null beside tool_calls', content];
    yield ['reasoning of a message', reasoning === undefined || isText(reasoning), 'text', reasoning];
    yield ['refusal of a message', isAbsent(refusal) || isText(refusal), 'text', refusal];
    yield* ofDetails(message.reasoning_details);
    yield* ofCalls(tool_calls);
  }
  yield* ofUsage((reply as Completion).usage);
}

function* ofCalls(calls: unknown): Generator<Requirement> {
  if (calls === undefined) return;
  const isThere = Array.isArray(calls) && calls.length > 0;
  yield ['tool_calls of a message', isThere, 'an array that is not empty', calls];
  for (const { id, type, function: called } of calls as NonNullable<
    Completion['choices'][0]['message']['tool_calls']
  >) {
    yield ['id of a tool call', isText(id) && id !== '', 'text that is not empty', id];
    yield ['type of a tool call', type === 'function', 'function', type];
    yield ['name of a tool call', isText(called?.name), 'text', called?.name];
    yield ['arguments of a tool call', isText(called?.arguments), 'JSON text', called?.arguments];
  }
}

function* ofUsage(usage: Usage | undefined): Generator<Requirement> {
  if (usage === undefined) return;
  yield ['usage', isObject(usage), 'an object', usage];
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details: prompt } = usage;
  yield ['prompt_tokens', isCount(prompt_tokens), 'an integer from 0', prompt_tokens];
  yield ['completion_tokens', isCount(completion_tokens), 'an integer from 0', completion_tokens];
  const total = prompt_tokens + completion_tokens;
  yield ['total_tokens', total_tokens === total, `${total}, the sum`, total_tokens];
  yield ['cached_tokens', isCount(prompt?.cached_tokens), 'an integer from 0', prompt?.cached_tokens];
  for (const [name, count] of Object.entries(usage.completion_tokens_details ?? {}))
    yield [`${name} of completion_tokens_details`, Number.isFinite(count), 'a number', count];
}
