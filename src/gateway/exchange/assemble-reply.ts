import type {
  Choice,
  Chunk,
  ChunkChoice,
  Completion,
  ReasoningDetail,
  ReplyExtras,
  ToolCall,
  ToolCallDelta,
} from './canonical.ts';
import { refusal } from './errors.ts';

/** Assembles the chunks of a stream into a whole reply. Throws if a choice does not end. */
export class ReplyAssembler {
  readonly #choices = new Map<number, ChoiceAssembler>();
  #usage: Completion['usage'];

  /** Takes the next chunk. */
  add({ choices, usage }: Chunk): void {
    if (usage) this.#usage = usage;
    for (const choice of choices) {
      let assembler = this.#choices.get(choice.index);
      if (!assembler) this.#choices.set(choice.index, (assembler = new ChoiceAssembler()));
      assembler.add(choice);
    }
  }

  /** The whole reply. Throws if a choice has no finish reason. */
  reply(): Completion {
    const choices = [...this.#choices]
      .sort(([a], [b]) => a - b)
      .map(([index, assembled]) => {
        const { finish_reason } = assembled;
        if (!finish_reason) throw incomplete();
        return choiceOf(index, finish_reason, assembled);
      });
    if (choices.length === 0) throw incomplete();
    return { choices, ...(this.#usage && { usage: this.#usage }) };
  }
}

/** Puts the pieces of one choice together. */
export class ChoiceAssembler {
  content = '';
  reasoning = '';
  refusal = '';
  readonly reasoning_details: ReasoningDetail[] = [];
  readonly extras: ReplyExtras = {};
  stop_sequence: string | undefined;
  finish_reason: ChunkChoice['finish_reason'] = null;
  native_finish_reason: string | undefined;
  logprobs: Record<string, unknown[]> | undefined;
  readonly #calls: ToolCall[] = [];

  get tool_calls(): ToolCall[] {
    return this.#calls.filter(Boolean);
  }

  add({ delta, finish_reason, native_finish_reason, stop_sequence, logprobs }: ChunkChoice): void {
    this.content += delta.content ?? '';
    this.reasoning += delta.reasoning ?? '';
    this.refusal += delta.refusal ?? '';
    for (const detail of delta.reasoning_details ?? []) this.reasoning_details.push(detail);
    for (const name of ['annotations', 'images', 'native'] as const)
      for (const extra of delta[name] ?? []) (this.extras[name] ??= []).push(extra as never);
    for (const call of delta.tool_calls ?? []) this.#addCall(call);
    if (logprobs != null) this.#addLogprobs(logprobs);
    this.finish_reason = finish_reason ?? this.finish_reason;
    this.stop_sequence = stop_sequence ?? this.stop_sequence;
    this.native_finish_reason ??= native_finish_reason;
  }

  #addCall({ index, id, function: piece, extra_content }: ToolCallDelta): void {
    this.#calls[index] ??= { id: '', type: 'function', function: { name: '', arguments: '' } };
    const call = this.#calls[index];
    call.id = id ?? call.id;
    call.function.name = piece?.name ?? call.function.name;
    call.function.arguments += piece?.arguments ?? '';
    if (extra_content) call.extra_content = extra_content;
  }

  /** Appends OpenAI's lists of token log probabilities. */
  #addLogprobs(logprobs: unknown): void {
    this.logprobs ??= {};
    for (const [name, tokens] of Object.entries(logprobs as object)) {
      if (!Array.isArray(tokens)) continue;
      // One by one: a list with more elements than a call may have arguments would throw.
      const list = (this.logprobs[name] ??= []);
      for (const token of tokens) list.push(token);
    }
  }
}

type Pieces = Omit<ChoiceAssembler, 'finish_reason' | 'add'>;

/** The choice of a whole reply that says what its pieces do. */
function choiceOf(index: number, finish_reason: Choice['finish_reason'], pieces: Pieces): Choice {
  const { content, reasoning, reasoning_details, refusal, tool_calls, logprobs } = pieces;
  const { stop_sequence, native_finish_reason } = pieces;
  return {
    index,
    message: {
      role: 'assistant',
      content: content === '' && tool_calls.length > 0 ? null : content,
      ...(reasoning !== '' && { reasoning }),
      ...(reasoning_details.length > 0 && { reasoning_details }),
      ...(tool_calls.length > 0 && { tool_calls }),
      ...(refusal !== '' && { refusal }),
      ...pieces.extras,
    },
    finish_reason,
    ...(stop_sequence !== undefined && { stop_sequence }),
    ...(native_finish_reason !== undefined && { native_finish_reason }),
    ...(logprobs != null && { logprobs }),
  };
}

export const incomplete = () =>
  refusal('server_error', { cause: new Error('a stage answered with a stream that lacks a finish_reason') });
