import type {
  Chunk,
  ChunkChoice,
  Completion,
  Delta,
  ReplyMessage,
  StreamController,
  StreamTransformer,
} from '../../../src/plugin.ts';
import { type Split, type SplitterOptions, ThinkSplitter } from './think-splitter.ts';

/** Splits a whole reply. `auto`: a closing tag without an opening one shows that the text began inside. */
export function splitReply(
  reply: Completion,
  starts_in_reasoning: boolean | 'auto',
  trim: boolean,
): Completion {
  const splitMessage = (message: ReplyMessage): ReplyMessage => {
    const { content } = message;
    // Text that the upstream has separated is not searched for tags.
    if (message.reasoning) return message;
    if (message.reasoning_details) return { ...message, reasoning: '' };
    if (!content) return { ...message, reasoning: '' };
    const opens = content.trimStart().startsWith('<think>');
    const implicit =
      starts_in_reasoning === 'auto' ? !opens && content.includes('</think>') : starts_in_reasoning;
    if (!opens && !implicit) return { ...message, reasoning: '' };
    const splitter = new ThinkSplitter({ implicit, trim });
    const split = splitter.end(splitter.push(content));
    const isEmpty = split.content === '' && message.tool_calls;
    return { ...message, content: isEmpty ? null : split.content, reasoning: split.reasoning };
  };
  const choices = reply.choices.map(choice => ({ ...choice, message: splitMessage(choice.message) }));
  return { ...reply, choices };
}

/** Splits a stream, each choice by itself. */
export class StreamSplitter implements StreamTransformer {
  readonly #options: SplitterOptions;
  /** Splitter by choice; `null` once a choice needs none. */
  readonly #splitters = new Map<number, ThinkSplitter | null>();

  constructor(options: SplitterOptions) {
    this.#options = options;
  }

  /** Passes reasoning first, then the rest of the chunk; each piece keeps the chunk's usage, which is cumulative. */
  transform(chunk: Chunk, controller: StreamController): void {
    if (this.#passes(chunk)) return controller.enqueue(chunk);
    const { choices, usage } = chunk;
    const before: ChunkChoice[] = [];
    const after: ChunkChoice[] = [];
    for (const choice of choices) this.#splitChoice(choice, before, after);
    const parts = [before, after].filter(part => part.length > 0);
    // All text is held back, but the usage so far is passed on.
    if (parts.length === 0 && usage) parts.push([]);
    for (const part of parts) controller.enqueue(usage ? { choices: part, usage } : { choices: part });
  }

  flush(controller: StreamController): void {
    for (const [index, splitter] of this.#splitters) {
      const split = splitter?.end();
      if (!split) continue;
      this.#splitters.set(index, null);
      if (split.reasoning || split.content) controller.enqueue({ choices: [choiceOf(index, split)] });
    }
  }

  /** Whether a chunk needs no change, as most of a long answer. */
  #passes({ choices }: Chunk): boolean {
    for (let at = 0; at < choices.length; at++)
      if (this.#splitters.get(choices[at]!.index) !== null) return false;
    return true;
  }

  #splitChoice(choice: ChunkChoice, before: ChunkChoice[], after: ChunkChoice[]): void {
    const { index, delta, finish_reason } = choice;
    const splitter = this.#splitterOf(choice);
    if (!splitter) return void after.push(choice);
    if (hasReasoning(delta)) {
      // The upstream does separate reasoning; what was held back comes first.
      const held = splitter.end();
      this.#splitters.set(index, null);
      if (held.reasoning || held.content) before.push(choiceOf(index, held));
      after.push(choice);
      return;
    }
    const split = splitter.push(delta.content ?? '');
    if (delta.tool_calls || finish_reason) {
      splitter.end(split);
      this.#splitters.set(index, null);
    } else if (splitter.decided) this.#splitters.set(index, null);
    if (split.reasoning) before.push({ index, delta: { reasoning: split.reasoning }, finish_reason: null });
    const rest: Delta = { ...delta };
    delete rest.content;
    if (split.content) rest.content = split.content;
    if (Object.keys(rest).length > 0 || finish_reason || choice.logprobs != null)
      after.push({ ...choice, delta: rest });
  }

  #splitterOf({ index, delta }: ChunkChoice): ThinkSplitter | null {
    let splitter = this.#splitters.get(index);
    if (splitter === undefined) {
      // A choice that begins with a reasoning field is separated by the upstream.
      splitter = hasReasoning(delta) ? null : new ThinkSplitter(this.#options);
      this.#splitters.set(index, splitter);
    }
    return splitter;
  }
}

/** Whether the upstream has separated reasoning, be it encrypted. */
const hasReasoning = ({ reasoning, reasoning_details }: Delta): boolean =>
  Boolean(reasoning || reasoning_details);

const choiceOf = (index: number, { reasoning, content }: Split): ChunkChoice => ({
  index,
  delta: { ...(reasoning && { reasoning }), ...(content && { content }) },
  finish_reason: null,
});
