import { type Message, type TurnMemory, textOf as wordsOf } from '../../../src/plugin.ts';
import { type Block, isSealed, textOf } from './blocks.ts';
import type { Restore } from './messages.ts';

/**
 * The thinking behind tool calls. The API wants it back, signed, while the turn that it began goes on, and the canonical form has no
 * place for signatures: so the blocks of turns that called tools are remembered here and put back when their results come. Where they
 * are not known, as after a restart or on another instance, a thinking budget cannot be kept up for the rest of that turn.
 */
export type ThinkingMemory = TurnMemory<readonly Block[]>;

/** The history of one request, seen with what is remembered of it. */
export class History {
  readonly #remembered = new Map<number, readonly Block[]>();
  /** The assistant's turn goes on, and nothing is known of the thinking that it began with. */
  readonly isForgotten: boolean;

  constructor(messages: readonly Message[], memory: ThinkingMemory) {
    const begin = messages.findLastIndex(({ role }) => role === 'user') + 1;
    let first: number | undefined;
    for (let at = begin; at < messages.length; at++) {
      const { role, tool_calls } = messages[at]!;
      if (role !== 'assistant') continue;
      first ??= at;
      const blocks = tool_calls && memory.recall(tool_calls);
      if (blocks) this.#remembered.set(at, blocks);
    }
    this.isForgotten = first !== undefined && !this.#remembered.has(first);
  }

  /** The turn as it was, if its words still are what they were; else its thinking before what the client has made of it. */
  readonly restore: Restore = (message, at, rebuilt) => {
    const blocks = this.#remembered.get(at);
    if (!blocks) return rebuilt;
    const said = blocks.map(({ type, text }) => (type === 'text' ? textOf(text) : '')).join('');
    const now = wordsOf(message.content);
    // With `reasoning_split: false` the client has the thinking in its text.
    const isSame = now === said || now.endsWith(`</think>${said}`);
    return isSame ? blocks : [...blocks.filter(isSealed), ...rebuilt];
  };
}
