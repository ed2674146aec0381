import {
  type Chunk,
  type ChunkChoice,
  type ChunkTransform,
  type Delta,
  type Exchange,
  shownUsage,
  transformed,
  type Usage,
  usageOf,
} from '../../../src/plugin.ts';

/** The one shape of every stream (protocol d2, d4 to d6): role chunk first, finish chunk last and with usage. */
export class ShapedStream implements ChunkTransform {
  readonly #exchange: Exchange;
  readonly #continuous: boolean;
  /** Choices whose role chunk has been sent. */
  readonly #begun = new Set<number>();
  /** Choices whose finish chunk has been sent. */
  readonly #ended = new Set<number>();
  /** The newest chunk with a finish reason: the last of the stream carries the usage, and only the end shows which is last (d5). */
  #finish: ChunkChoice | undefined;
  /** The running usage that was shown last. */
  #shown = usageOf(0, 0);

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
    this.#continuous = exchange.request.stream_options?.continuous_usage_stats === true;
  }

  read(chunks: AsyncIterable<Chunk>): AsyncIterable<Chunk> {
    return transformed(chunks, this);
  }

  chunk(chunk: Chunk): Chunk | readonly Chunk[] {
    if (this.#isPlain(chunk)) return this.#passed(chunk);
    return chunk.choices.flatMap(choice => [...this.#shape(choice)]);
  }

  /** The finish chunk, with the final usage if the stream has ended in good order. */
  rest(isFault: boolean): readonly Chunk[] {
    const finish = this.#finish;
    if (!finish) return [];
    return [isFault ? this.#released(finish) : this.#chunk(finish, shownUsage(this.#exchange))];
  }

  /** Nearly every chunk of a long answer: one more text of a choice that has begun and goes on. */
  #isPlain({ choices }: Chunk): boolean {
    if (choices.length !== 1 || this.#finish) return false;
    const { index, delta, finish_reason } = choices[0]!;
    if (finish_reason !== null || delta.role !== undefined || !this.#begun.has(index)) return false;
    return delta.tool_calls === undefined && delta.refusal === undefined && isText(delta);
  }

  #passed(chunk: Chunk): Chunk {
    const usage = this.#running();
    if (usage) return { choices: chunk.choices, usage };
    return chunk.usage ? { choices: chunk.choices } : chunk;
  }

  *#shape(choice: ChunkChoice): Generator<Chunk> {
    const { index, finish_reason } = choice;
    const delta = withoutEmpty(choice.delta);
    const says = delta !== undefined || choice.logprobs != null;
    const ends = finish_reason !== null && !this.#ended.has(index);
    // Some servers repeat a choice beside the usage: it says nothing new.
    if (!says && !ends && this.#begun.has(index)) return;
    if (this.#finish && this.#finish.index !== index) {
      yield this.#released(this.#finish);
      this.#ended.add(this.#finish.index);
      this.#finish = undefined;
    }
    if (!this.#begun.has(index)) yield this.#role(index);
    if (says) yield this.#chunk({ ...choice, delta: delta ?? {}, finish_reason: null }, this.#running());
    if (ends) this.#finish = { index, delta: {}, finish_reason };
  }

  #role(index: number): Chunk {
    const first = this.#begun.size === 0;
    this.#begun.add(index);
    const running = this.#running();
    const usage = running && first ? usageOf(running.prompt_tokens, 0) : running;
    return this.#chunk({ index, delta: { role: 'assistant', content: '' }, finish_reason: null }, usage);
  }

  #released(choice: ChunkChoice): Chunk {
    return this.#chunk(choice, this.#running());
  }

  /**
   * The same four keys in every chunk (d6), never less than before: an estimate may have been above what the upstream tells. The true
   * figure and the upstream's own breakdown are on the last chunk.
   */
  #running(): Usage | undefined {
    if (!this.#continuous) return undefined;
    const { prompt_tokens, completion_tokens, cached_tokens } = this.#exchange.usage;
    this.#shown = usageOf(
      Math.max(this.#shown.prompt_tokens, prompt_tokens),
      Math.max(this.#shown.completion_tokens, completion_tokens),
      cached_tokens,
    );
    return this.#shown;
  }

  #chunk(choice: ChunkChoice, usage: Usage | undefined): Chunk {
    return usage ? { choices: [choice], usage } : { choices: [choice] };
  }
}

/** Exactly one of reasoning and content, with something in it. */
const isText = ({ reasoning, content }: Delta): boolean =>
  content ? reasoning === undefined : content === undefined && !!reasoning;

/** The delta without its role and without empty texts, or `undefined` if nothing is left. */
function withoutEmpty({ reasoning, content, tool_calls, refusal }: Delta): Delta | undefined {
  if (!reasoning && !content && !tool_calls?.length && !refusal) return undefined;
  return {
    ...(reasoning && { reasoning }),
    ...(content && { content }),
    ...(tool_calls?.length && { tool_calls }),
    ...(refusal && { refusal }),
  };
}
