import { type Message, type ReasoningCache, textOf as wordsOf } from '../../../src/plugin.ts';
import { type Block, isSealed, textOf } from './blocks.ts';
import type { Restore } from './messages.ts';
import { sealedBlocks } from './reasoning-details.ts';

/**
 * A remembered turn: its thinking unchanged, and the positions of its text and calls, which the client sends again; of the text only the
 * length is kept.
 */
export type Outline = readonly Block[];

/**
 * Stores the thinking behind tool calls. The API requires it back, signed, while the turn continues, and most clients have no field for
 * signatures; so outlines of turns that called tools are stored here and filled in when the results come. If one is lost, as after a
 * restart or on another instance, and the client has not kept it either, the rest of that turn cannot have a thinking budget.
 */
export type ThinkingMemory = ReasoningCache<Outline>;

/** One block of an outline; `undefined` for a block that may not be in a request. */
export function outlined(block: Block): Block | undefined {
  if (block.type === 'text') return { type: 'text', characters: textOf(block.text).length };
  if (block.type === 'tool_use') return { type: 'tool_use' };
  return isSealed(block) ? block : undefined;
}

/** The history of one request, with its thinking: the client's own, or else the stored turns. */
export class History {
  readonly #outlines = new Map<number, Outline>();
  /** True if the assistant's turn continues and the thinking with which it began is not known. */
  readonly isForgotten: boolean;
  /** True if the client sent reasoning that cannot be sent: this API takes none but its own. */
  readonly isDropped: boolean;

  constructor(messages: readonly Message[], memory: ThinkingMemory) {
    const begin = messages.findLastIndex(({ role }) => role === 'user') + 1;
    let first: Outline | undefined;
    let isBegun = false;
    let hasGap = false;
    let isDropped = false;
    for (const [at, message] of messages.entries()) {
      if (message.role !== 'assistant') continue;
      const isCurrent = at >= begin;
      const own = sealedBlocks(message);
      const stored = isCurrent && !hasGap && message.tool_calls && memory.recall(message.tool_calls);
      const outline = joined(own, stored || undefined);
      if (outline) this.#outlines.set(at, outline);
      if (hasReasoning(message) && !outline?.some(isSealed)) isDropped = true;
      if (!isCurrent) continue;
      if (!isBegun) first = outline;
      isBegun = true;
      // Thinking is signed for all that precedes it: after a gap, stored thinking is not valid.
      if (!outline) hasGap = true;
    }
    this.isForgotten = isBegun && !(first?.[0] && isSealed(first[0]));
    this.isDropped = isDropped;
  }

  /** Restores the turn; if the client's text differs from the model's, puts the thinking before it. */
  readonly restore: Restore = ({ content }, at, rebuilt) => {
    const outline = this.#outlines.get(at);
    if (!outline) return rebuilt;
    const words = ownWords(wordsOf(content), outline);
    if (words === undefined) return [...outline.filter(isSealed), ...rebuilt];
    return filledIn(outline, words, rebuilt);
  };
}

/** Whether the client sent reasoning with a message. */
export const hasReasoning = ({ reasoning, reasoning_details }: Message): boolean =>
  reasoning !== undefined || reasoning_details !== undefined;

/** The client's own thinking, in its place among text and calls if the turn is stored; without any, the stored turn. */
function joined(own: readonly Block[], stored: Outline | undefined): Outline | undefined {
  if (own.length === 0) return stored;
  const isStored = stored && JSON.stringify(stored.filter(isSealed)) === JSON.stringify(own);
  return isStored ? stored : own;
}

const charactersOf = ({ type, characters }: Block): number => (type === 'text' ? Number(characters) : 0);

/**
 * The model's own text in `words`, found by its known length; undefined if it does not fit. With `reasoning_split: false` the thinking
 * precedes it.
 */
function ownWords(words: string, outline: Outline): string | undefined {
  // Without calls it is not a stored turn, but the client's thinking alone.
  if (!outline.some(({ type }) => type === 'tool_use')) return undefined;
  const rest = words.length - outline.reduce((sum, block) => sum + charactersOf(block), 0);
  if (rest === 0) return words;
  return words.slice(0, Math.max(0, rest)).endsWith('</think>') ? words.slice(rest) : undefined;
}

function filledIn(outline: Outline, words: string, rebuilt: readonly Block[]): Block[] {
  const uses = rebuilt.filter(({ type }) => type === 'tool_use');
  const mark = rebuilt.findLast(({ type, cache_control }) => type === 'text' && cache_control)?.cache_control;
  const last = mark ? outline.findLast(({ type }) => type === 'text') : undefined;
  const blocks: Block[] = [];
  let used = 0;
  let at = 0;
  for (const block of outline) {
    if (block.type === 'tool_use') blocks.push(uses[used++]!);
    else if (block.type !== 'text') blocks.push(block);
    else {
      const text = words.slice(at, (at += charactersOf(block)));
      const marked = block === last ? { cache_control: mark } : {};
      if (text.trim() !== '') blocks.push({ type: 'text', text, ...marked });
    }
  }
  return blocks;
}
