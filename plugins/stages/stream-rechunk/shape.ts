import {
  type Chunk,
  type ChunkChoice,
  type Delta,
  type Exchange,
  shownUsage,
  type Usage,
  usageOf,
} from '../../../src/plugin.ts';

/** The one shape of every stream (protocol d2, d4 to d6): role chunk first, finish chunk last and with usage. */
export class ShapedStream {
  readonly #exchange: Exchange;
  readonly #continuous: boolean;
  /** Choices whose role chunk has been sent. */
  readonly #begun = new Set<number>();
  /** The newest chunk with a finish reason: the last of the stream carries the usage, and only the end shows which is last (d5). */
  #finish: ChunkChoice | undefined;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
    this.#continuous = exchange.request.stream_options?.continuous_usage_stats === true;
  }

  async *read(chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk> {
    for await (const { choices } of chunks) {
      for (const choice of choices) {
        if (this.#finish) yield this.#released(this.#finish);
        this.#finish = undefined;
        if (!this.#begun.has(choice.index)) yield this.#role(choice.index);
        const delta = withoutEmpty(choice.delta);
        if (delta || choice.logprobs != null) {
          yield this.#chunk({ ...choice, delta: delta ?? {}, finish_reason: null }, this.#running());
        }
        if (choice.finish_reason)
          this.#finish = { index: choice.index, delta: {}, finish_reason: choice.finish_reason };
      }
    }
    if (this.#finish) yield this.#chunk(this.#finish, shownUsage(this.#exchange));
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

  /** The same four keys in every chunk (d6); the upstream's own breakdown comes with the final figure. */
  #running(): Usage | undefined {
    if (!this.#continuous) return undefined;
    const { prompt_tokens, completion_tokens, cached_tokens } = this.#exchange.usage;
    return usageOf(prompt_tokens, completion_tokens, cached_tokens);
  }

  #chunk(choice: ChunkChoice, usage: Usage | undefined): Chunk {
    return usage ? { choices: [choice], usage } : { choices: [choice] };
  }
}

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
