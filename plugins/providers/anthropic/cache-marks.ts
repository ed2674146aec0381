import { isObject, type Json } from '../../../src/plugin.ts';
import type { Block } from './blocks.ts';
import type { Conversation } from './messages.ts';

/** The most marks that the API accepts in a request. */
const max_marks = 4;

/** The parts of a request that can have a cache mark. */
interface Markable extends Conversation {
  readonly tools?: unknown;
}

/**
 * `request` with the marks of the client, or of the option `prompt_caching` where they leave it a place. Of more than four the last are
 * kept, since each covers all that precedes it; `isDropped` says that some were not.
 */
export function withCacheMarks<Request extends Markable>(request: Request, option: 'off' | '5m' | '1h') {
  const all = [...markedIn(request)];
  if (all.length > max_marks)
    return { request: unmarked(request, new Set(all.slice(0, -max_marks))), isDropped: true };
  // The API refuses marks of different lengths in most orders.
  const isAlike = all.every(({ cache_control }) => ttlOf(cache_control) === option);
  const isAdded = option !== 'off' && all.length < max_marks && isAlike;
  const cache_control = { type: 'ephemeral', ttl: option };
  return { request: isAdded ? { ...request, cache_control } : request, isDropped: false };
}

const ttlOf = (mark: unknown): unknown => (isObject(mark) ? (mark.ttl ?? '5m') : undefined);

/** What has a mark, in the order of the prompt. */
function* markedIn({ tools, system, messages }: Markable): Generator<Json> {
  for (const block of blocksIn(tools)) if (block.cache_control) yield block;
  for (const block of blocksIn(system)) if (block.cache_control) yield block;
  for (const { content } of messages) {
    for (const block of content) {
      for (const inner of blocksIn(block.content)) if (inner.cache_control) yield inner;
      if (block.cache_control) yield block;
    }
  }
}

const blocksIn = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

function unmarked<Request extends Markable>(request: Request, marked: ReadonlySet<unknown>): Request {
  const cleared = (value: unknown): unknown => (Array.isArray(value) ? value.map(one => clear(one)) : value);
  const clear = (block: Json): Json => {
    const { cache_control, ...rest } = block;
    const plain = marked.has(block) ? rest : block;
    return Array.isArray(plain.content) ? { ...plain, content: cleared(plain.content) } : plain;
  };
  return {
    ...request,
    ...(request.tools !== undefined && { tools: cleared(request.tools) }),
    ...(request.system !== undefined && { system: cleared(request.system) }),
    messages: request.messages.map(turn => ({
      ...turn,
      content: turn.content.map(block => clear(block) as Block),
    })),
  };
}
