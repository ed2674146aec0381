import type { Chunk, ChunkChoice, Completion, Delta, FinishReason, ToolCall, Usage } from '../canonical.ts';
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
export function resultOfReply({ choices, usage }: Completion): Result {
  const asChunk = choices.map(({ index, message, finish_reason, logprobs }): ChunkChoice => {
    const { tool_calls, ...delta } = message;
    const calls = tool_calls?.map((call, at) => ({ index: at, ...call }));
    return { index, delta: { ...delta, ...(calls && { tool_calls: calls }) }, finish_reason, logprobs };
  });
  return resultOf([{ choices: asChunk, ...(usage && { usage }) }]);
}

/** Whether the kinds come in the order in which a whole reply has them, and the end last. */
export const isInOrder = ({ choices }: Result): boolean =>
  choices.every(({ order }) =>
    order.every((kind, at) => at === 0 || kinds.indexOf(kind) > kinds.indexOf(order[at - 1]!)),
  );

/** The whole reply that a server would have sent in place of the stream with this result. */
export function replyOf({ choices, usage, usageIsPartial }: Result): Completion {
  return {
    choices: choices.map(({ index, reasoning, content, refusal, tool_calls, logprobs, finish_reason }) => ({
      index,
      message: {
        role: 'assistant',
        content: content === '' && tool_calls.length > 0 ? null : content,
        ...(reasoning !== '' && { reasoning }),
        ...(tool_calls.length > 0 && { tool_calls }),
        ...(refusal !== '' && { refusal }),
      },
      finish_reason: finish_reason ?? 'stop',
      ...(logprobs.length > 0 && { logprobs: { content: logprobs, refusal: null } }),
    })),
    ...(usage && !usageIsPartial && { usage }),
  };
}

class ResultBuilder {
  readonly #result: ChoiceResult;
  readonly #calls = new Map<number, ToolCall>();
  readonly #pieces: TextPiece[] = [];

  constructor(index: number) {
    this.#result = {
      index,
      role: false,
      reasoning: '',
      content: '',
      refusal: '',
      tool_calls: [],
      logprobs: [],
      finish_reason: null,
      finishes: 0,
      order: [],
      text: '',
    };
  }

  /** Within one delta reasoning comes before content, and both before tool calls. */
  add({ delta, finish_reason, logprobs }: ChunkChoice): void {
    const result = this.#result;
    if (delta.role) result.role = true;
    if (delta.reasoning) this.#text('reasoning', delta.reasoning);
    if (delta.content) this.#text('content', delta.content);
    if (delta.refusal) {
      result.refusal += delta.refusal;
      this.#came('refusal');
    }
    for (const { index, ...piece } of delta.tool_calls ?? []) {
      this.#call(index, piece);
      if (this.#result.order.at(-1) !== 'tool_calls') this.#pieces.push(toolCalls);
      this.#came('tool_calls');
    }
    if (logprobs != null) result.logprobs.push(...entriesOf(logprobs));
    if (!finish_reason) return;
    result.finish_reason = finish_reason;
    result.finishes++;
    this.#came('finish_reason');
  }

  end(): ChoiceResult {
    const calls = [...this.#calls].sort(([a], [b]) => a - b).map(([, call]) => call);
    return { ...this.#result, tool_calls: calls, text: markedText(this.#pieces) };
  }

  #text(kind: 'reasoning' | 'content', text: string): void {
    this.#result[kind] += text;
    this.#pieces.push({ kind, text });
    this.#came(kind);
  }

  #call(index: number, piece: { id?: string; function?: { name?: string; arguments?: string } }): void {
    let call = this.#calls.get(index);
    if (!call) {
      call = { id: '', type: 'function', function: { name: '', arguments: '' } };
      this.#calls.set(index, call);
    }
    call.id = piece.id ?? call.id;
    call.function.name = piece.function?.name ?? call.function.name;
    call.function.arguments += piece.function?.arguments ?? '';
  }

  #came(kind: Kind): void {
    if (this.#result.order.at(-1) !== kind) this.#result.order.push(kind);
  }
}

/** OpenAI's lists of tokens in one; what has another form is one entry. */
function entriesOf(logprobs: unknown): unknown[] {
  if (typeof logprobs !== 'object' || logprobs === null) return [logprobs];
  const { content, refusal } = logprobs as { content?: unknown; refusal?: unknown };
  if (!Array.isArray(content) && !Array.isArray(refusal)) return [logprobs];
  return [...(Array.isArray(content) ? content : []), ...(Array.isArray(refusal) ? refusal : [])];
}
