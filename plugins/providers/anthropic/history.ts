import { type Message, type ReasoningCache, textOf as wordsOf } from '../../../src/plugin.ts';
import { type Block, isSealed, textOf } from './blocks.ts';
import type { Restore } from './messages.ts';

/**
 * A turn as it is remembered: its thinking as it came, and where its words and calls stood between it. Those the client sends again;
 * of its words only their number is kept.
 */
export type Outline = readonly Block[];

/**
 * The thinking behind tool calls. The API wants it back, signed, while the turn that it began goes on, and the canonical form has no
 * place for signatures: so the outlines of turns that called tools are remembered here and filled in when their results come. Where one
 * is not known, as after a restart or on another instance, a thinking budget cannot be kept up for the rest of that turn.
 */
export type ThinkingMemory = ReasoningCache<Outline>;

/** One block of an outline; `undefined` for what may not stand in a request. */
export function outlined(block: Block): Block | undefined {
  if (block.type === 'text') return { type: 'text', characters: textOf(block.text).length };
  if (block.type === 'tool_use') return { type: 'tool_use' };
  return isSealed(block) ? block : undefined;
}

/** The history of one request, seen with what is remembered of it. */
export class History {
  readonly #outlines = new Map<number, Outline>();
  /** The assistant's turn goes on, and the thinking that it must have begun with is not known. */
  readonly isForgotten: boolean;

  constructor(messages: readonly Message[], memory: ThinkingMemory) {
    const begin = messages.findLastIndex(({ role }) => role === 'user') + 1;
    let first: Outline | undefined;
    let isBegun = false;
    for (let at = begin; at < messages.length; at++) {
      const { role, tool_calls } = messages[at]!;
      if (role !== 'assistant') continue;
      const outline = tool_calls && memory.recall(tool_calls);
      if (!isBegun) first = outline;
      isBegun = true;
      // Thinking is sealed to all that came before it: without what is forgotten, what follows is not valid.
      if (!outline) break;
      this.#outlines.set(at, outline);
    }
    this.isForgotten = isBegun && !(first?.[0] && isSealed(first[0]));
  }

  /** The turn as it was; where the client has other words than the model had, its thinking before them. */
  readonly restore: Restore = ({ content }, at, rebuilt) => {
    const outline = this.#outlines.get(at);
    if (!outline) return rebuilt;
    const words = ownWords(wordsOf(content), outline);
    if (words === undefined) return [...outline.filter(isSealed), ...rebuilt];
    return filledIn(
      outline,
      words,
      rebuilt.filter(({ type }) => type === 'tool_use'),
    );
  };
}

const charactersOf = ({ type, characters }: Block): number => (type === 'text' ? Number(characters) : 0);

/**
 * The model's own text in `words`, found by its known length; undefined if it does not fit. With `reasoning_split: false` the thinking
 * precedes it.
 */
function ownWords(words: string, outline: Outline): string | undefined {
  const rest = words.length - outline.reduce((sum, block) => sum + charactersOf(block), 0);
  if (rest === 0) return words;
  return words.slice(0, Math.max(0, rest)).endsWith('</think>') ? words.slice(rest) : undefined;
}

function filledIn(outline: Outline, words: string, uses: readonly Block[]): Block[] {
  const blocks: Block[] = [];
  let used = 0;
  let at = 0;
  for (const block of outline) {
    if (block.type === 'tool_use') blocks.push(uses[used++]!);
    else if (block.type !== 'text') blocks.push(block);
    else {
      const text = words.slice(at, (at += charactersOf(block)));
      if (text.trim() !== '') blocks.push({ type: 'text', text });
    }
  }
  return blocks;
}
