import type { Chunk, ChunkChoice, Completion, Delta, FinishReason, ToolCall, Usage } from '../canonical.ts';
import { ChoiceAssembler, choiceOf } from '../exchange/assemble-reply.ts';
import { chunkOf } from '../upstream/http/decode-reply.ts';
import { markedText, type TextPiece, toolCalls } from './same-text.ts';

const kinds = ['reasoning', 'content', 'refusal', 'tool_calls', 'finish_reason'] as const;
type Kind = (typeof kinds)[number];

/** What a client has of one choice when it has put the pieces together. */
export interface ChoiceResult {
  readonly index: number;
  role: boolean;
  reasoning: string;
  content: string;
  refusal: string;
  tool_calls: ToolCall[];
  logprobs: unknown[];
  finish_reason: FinishReason | null;
  /** How many chunks said that it has ended. */
  finishes: number;
  /** In which order the kinds came, each change of kind once. */
  order: Kind[];
  /** Reasoning and content in their order, and where tool calls stand, for `sameText`. */
  text: string;
}

/** What a client has of a whole reply. */
export interface Result {
  readonly choices: readonly ChoiceResult[];
  /** The last that was told. */
  readonly usage: Usage | undefined;
  /** Something was said after the usage was told, so that it is no final figure. */
  readonly usageIsPartial: boolean;
}

/** The result of a stream. */
export function resultOf(chunks: readonly Chunk[]): Result {
  const builders = new Map<number, ResultBuilder>();
  let usage: Usage | undefined;
  let saidSince = false;
  for (const chunk of chunks) {
    if (chunk.usage) usage = chunk.usage;
    saidSince = !chunk.usage && (saidSince || chunk.choices.some(({ delta }) => saysMore(delta)));
    for (const choice of chunk.choices) {
      let builder = builders.get(choice.index);
      if (!builder) builders.set(choice.index, (builder = new ResultBuilder(choice.index)));
      builder.add(choice);
    }
  }
  const choices = [...builders.values()].map(builder => builder.end());
  choices.sort((a, b) => a.index - b.index);
  return { choices, usage, usageIsPartial: usage !== undefined && saidSince };
}

const saysMore = ({ reasoning, content, refusal, tool_calls }: Delta): boolean =>
  Boolean(reasoning || content || refusal || tool_calls?.length);

/** The result of a whole reply. */
export const resultOfReply = (reply: Completion): Result => resultOf([chunkOf(reply)]);

/** Whether the kinds come in the order in which a whole reply has them, and the end last. */
export const isInOrder = ({ choices }: Result): boolean =>
  choices.every(({ order }) =>
    order.every((kind, at) => at === 0 || kinds.indexOf(kind) > kinds.indexOf(order[at - 1]!)),
  );

/** The whole reply that a server would have sent in place of the stream with this result. */
export function replyOf({ choices, usage, usageIsPartial }: Result): Completion {
  return {
    choices: choices.map(({ logprobs, finish_reason, ...said }) =>
      choiceOf({
        ...said,
        finish_reason: finish_reason ?? 'stop',
        logprobs: logprobs.length > 0 ? { content: logprobs, refusal: null } : undefined,
      }),
    ),
    ...(usage && !usageIsPartial && { usage }),
  };
}

class ResultBuilder {
  readonly #index: number;
  readonly #assembler = new ChoiceAssembler();
  readonly #pieces: TextPiece[] = [];
  readonly #order: Kind[] = [];
  readonly #logprobs: unknown[] = [];
  #role = false;
  #finishes = 0;

  constructor(index: number) {
    this.#index = index;
  }

  /** Within one delta reasoning comes before content, and both before tool calls. */
  add(choice: ChunkChoice): void {
    const { delta, finish_reason, logprobs } = choice;
    this.#assembler.add(choice);
    if (delta.role) this.#role = true;
    for (const kind of ['reasoning', 'content'] as const) {
      const text = delta[kind];
      if (!text) continue;
      this.#pieces.push({ kind, text });
      this.#came(kind);
    }
    if (delta.refusal) this.#came('refusal');
    if (delta.tool_calls?.length) {
      if (this.#order.at(-1) !== 'tool_calls') this.#pieces.push(toolCalls);
      this.#came('tool_calls');
    }
    if (logprobs != null) this.#logprobs.push(...entriesOf(logprobs));
    if (!finish_reason) return;
    this.#finishes++;
    this.#came('finish_reason');
  }

  end(): ChoiceResult {
    const { reasoning, content, refusal, tool_calls, finish_reason } = this.#assembler;
    return {
      index: this.#index,
      role: this.#role,
      reasoning,
      content,
      refusal,
      tool_calls,
      logprobs: this.#logprobs,
      finish_reason,
      finishes: this.#finishes,
      order: this.#order,
      text: markedText(this.#pieces),
    };
  }

  #came(kind: Kind): void {
    if (this.#order.at(-1) !== kind) this.#order.push(kind);
  }
}

/** OpenAI's lists of tokens in one; what has another form is one entry. */
function entriesOf(logprobs: unknown): unknown[] {
  if (typeof logprobs !== 'object' || logprobs === null) return [logprobs];
  const { content, refusal } = logprobs as { content?: unknown; refusal?: unknown };
  if (!Array.isArray(content) && !Array.isArray(refusal)) return [logprobs];
  return [...(Array.isArray(content) ? content : []), ...(Array.isArray(refusal) ? refusal : [])];
}
