import { ChoiceAssembler, ReplyAssembler } from '../gateway/exchange/assemble-reply.ts';
import type { Chunk, ChunkChoice, Completion, Delta, Usage } from '../gateway/exchange/canonical.ts';
import { chunkOf } from '../gateway/upstream/http/decode-reply.ts';
import { markedText, type TextPiece, toolCalls } from './same-text.ts';

const kinds = ['reasoning', 'content', 'refusal', 'tool_calls', 'finish_reason'] as const;
type Kind = (typeof kinds)[number];

/** What a client has of one choice when it has put the pieces together. */
export class ChoiceResult extends ChoiceAssembler {
  readonly index: number;
  role = false;
  /** How many chunks had a finish reason. */
  finishes = 0;
  /** The kinds in the order in which they came, each change of kind once. */
  readonly order: Kind[] = [];
  readonly #pieces: TextPiece[] = [];

  constructor(index: number) {
    super();
    this.index = index;
  }

  /** Within one delta reasoning comes before content, and both before tool calls. */
  override add(choice: ChunkChoice): void {
    super.add(choice);
    const { delta, finish_reason } = choice;
    if (delta.role) this.role = true;
    for (const kind of ['reasoning', 'content'] as const) {
      const text = delta[kind];
      if (!text) continue;
      this.#pieces.push({ kind, text });
      this.#came(kind);
    }
    if (delta.refusal) this.#came('refusal');
    if (delta.tool_calls?.length && this.#came('tool_calls')) this.#pieces.push(toolCalls);
    if (!finish_reason) return;
    this.finishes++;
    this.#came('finish_reason');
  }

  /** Reasoning and content in their order, with a mark for tool calls, for `sameText`. */
  get text(): string {
    return markedText(this.#pieces);
  }

  /** Log probabilities of all tokens. */
  get tokens(): unknown[] {
    return Object.values(this.logprobs ?? {}).flat();
  }

  /** Returns false if the last piece was of this kind as well. */
  #came(kind: Kind): boolean {
    if (this.order.at(-1) === kind) return false;
    this.order.push(kind);
    return true;
  }
}

/** What a client has of a whole reply. */
export interface Result {
  readonly choices: readonly ChoiceResult[];
  /** The last usage that was sent. */
  readonly usage: Usage | undefined;
  /** True if text came after the usage, so that it is not the final count. */
  readonly usageIsPartial: boolean;
}

/** The result of a stream. */
export function resultOf(chunks: readonly Chunk[]): Result {
  const byIndex = new Map<number, ChoiceResult>();
  let usage: Usage | undefined;
  let saidSince = false;
  for (const chunk of chunks) {
    if (chunk.usage) usage = chunk.usage;
    saidSince = !chunk.usage && (saidSince || chunk.choices.some(({ delta }) => saysMore(delta)));
    for (const choice of chunk.choices) {
      let result = byIndex.get(choice.index);
      if (!result) byIndex.set(choice.index, (result = new ChoiceResult(choice.index)));
      result.add(choice);
    }
  }
  const choices = [...byIndex.values()].sort((a, b) => a.index - b.index);
  return { choices, usage, usageIsPartial: usage !== undefined && saidSince };
}

const saysMore = ({ reasoning, content, refusal, tool_calls }: Delta): boolean =>
  Boolean(reasoning || content || refusal || tool_calls?.length);

/** The result of a whole reply. */
export const resultOfReply = (reply: Completion): Result => resultOf([chunkOf(reply)]);

/** Whether the kinds come in the order in which a whole reply has them, and the finish reason last. */
export const isInOrder = ({ choices }: Result): boolean =>
  choices.every(({ order }) =>
    order.every((kind, at) => at === 0 || kinds.indexOf(kind) > kinds.indexOf(order[at - 1]!)),
  );

/** The whole reply that a server would have sent in place of these chunks. */
export function replyOf(chunks: readonly Chunk[], { usageIsPartial }: Result): Completion {
  const assembler = new ReplyAssembler();
  for (const chunk of chunks) assembler.add(usageIsPartial ? { choices: chunk.choices } : chunk);
  return assembler.reply();
}

/** Tool call arguments as they read without their escapes. */
export function decodedArguments(text: string): string {
  try {
    const texts: string[] = [];
    JSON.parse(text, (_, value) => {
      if (typeof value === 'string') texts.push(value);
      return value;
    });
    return texts.join('\n');
  } catch {
    return text;
  }
}
