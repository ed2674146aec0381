import type { TimedHook } from '../../telemetry/metrics.ts';
import type { Completion } from './canonical.ts';
import { chunk_rule, reply_rule, replyFault } from './canonical-faults.ts';
import type { Answer } from './stage.ts';
import type { StreamTransformer } from './stream.ts';

/** Thrown for a hook's result that cannot be meant, such as a reply from `onHeaders`. Its message says what to do instead. */
export class HookResultError extends Error {
  override readonly name = 'HookResultError';

  constructor(stage: string, hook: TimedHook, result: unknown) {
    const isReplyHook = hook === 'onRequest' || hook === 'onReply';
    const fault = isReplyHook && isLikeReply(result) ? replyFault(result) : undefined;
    const [what, rule] = fault ? [`a reply with ${fault}`, reply_rule] : [described(result), instead[hook]];
    super(`the stage ${stage} returned ${what} from ${hook}: ${rule}`);
  }
}

/** Thrown for what a stage put into a stream and is no chunk. */
export class ChunkError extends Error {
  override readonly name = 'ChunkError';

  constructor(stage: string, how: keyof typeof chunkTaker, fault: string) {
    super(`the stage ${stage} ${how} ${fault}: ${chunkTaker[how]}, ${chunk_rule}`);
  }
}

const chunkTaker = {
  enqueued: 'enqueue takes a chunk',
  'answered with': 'the stream that onRequest returns is of chunks',
} as const;

const instead: Readonly<Record<TimedHook, string>> = {
  onHeaders: 'it takes no result; refuse by throwing a GatewayError, and answer from onRequest',
  onRequest:
    'return a reply or a stream of chunks to answer, or nothing; change the request in place, and refuse by throwing a GatewayError',
  onReply: 'return the reply to pass on, the same or another',
  onStream:
    'return a transformer, { transform(chunk, controller), flush?(controller) }, or nothing; fromGenerator makes one of a generator',
  onError: 'return the GatewayError that the client sees, without a promise',
  onSettled: 'it takes no result, and nothing can be sent any more',
};

/** Whether a hook that takes no result has returned none. */
export const isNothing = (result: unknown): boolean => result === undefined || result === null;

/** Whether `onRequest` may return this. */
export const isAnswer = (result: unknown): result is Answer =>
  isReply(result) || (typeof result === 'object' && result !== null && isIterable(result));

/** Closes the stream of an answer that is not sent: it may hold a connection. Never throws; does nothing with anything else. */
export function discardAnswer(answer: unknown): void {
  const ignored = () => {};
  try {
    const { destroy, cancel, return: end } = (answer ?? {}) as Record<string, unknown>;
    // Streams of Node and of the Web, then generators: until they are read, their iterators close nothing.
    const close = [destroy, cancel, end].find(method => typeof method === 'function');
    if (close) Promise.resolve(close.call(answer)).catch(ignored);
    else if (typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer)
      Promise.resolve((answer as AsyncIterable<unknown>)[Symbol.asyncIterator]().return?.()).catch(ignored);
  } catch {
    // A stream that is read elsewhere cannot be closed.
  }
}

/** Whether it can be sent and billed; the usage of `checked` is not looked at again. */
export const isReply = (result: unknown, checked?: Completion): result is Completion =>
  replyFault(result, checked) === undefined;

export const isTransformer = (result: unknown): result is StreamTransformer =>
  typeof (result as StreamTransformer | null | undefined)?.transform === 'function';

const isIterable = (value: object): boolean => Symbol.asyncIterator in value || Symbol.iterator in value;

/** Whether a result is meant as a reply: a list of choices that are none of a chunk. */
function isLikeReply(result: unknown): boolean {
  const choices: unknown = (result as Completion | null | undefined)?.choices;
  return Array.isArray(choices) && (choices.length === 0 || Boolean(choices[0]?.message));
}

/** What a result is, in words. */
function described(result: unknown): string {
  if (isNothing(result)) return 'nothing';
  if (typeof result !== 'object') return `a ${typeof result}`;
  const { then, choices, messages } = result as {
    then?: unknown;
    choices?: { message?: unknown }[];
    messages?: unknown;
  };
  if (typeof then === 'function') return 'a promise';
  if (Array.isArray(result)) return 'an array';
  if (Array.isArray(choices)) return choices[0]?.message ? 'a reply' : 'a chunk';
  if (Array.isArray(messages)) return 'the request';
  return Symbol.asyncIterator in result! ? 'a generator' : 'an object';
}
