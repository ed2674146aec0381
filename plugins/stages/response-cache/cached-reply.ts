import {
  type Chunk,
  type Completion,
  type Outcome,
  ReplyAssembler,
  type StreamController,
  type StreamTransformer,
  usageOf,
} from '../../../src/plugin.ts';

/** Collects a reply while it passes, up to a number of characters. */
export class CachedReply implements StreamTransformer {
  readonly key: string;
  #characters_left: number;
  readonly #assembler = new ReplyAssembler();

  constructor(key: string, max_characters: number) {
    this.key = key;
    this.#characters_left = max_characters;
  }

  transform(chunk: Chunk, controller?: StreamController): void {
    for (const { delta, logprobs } of chunk.choices) {
      this.#characters_left -= (delta.content?.length ?? 0) + (delta.reasoning?.length ?? 0);
      const { tool_calls, reasoning_details } = delta;
      if (tool_calls || reasoning_details || logprobs)
        this.#characters_left -= JSON.stringify([tool_calls, reasoning_details, logprobs]).length;
    }
    if (this.#characters_left >= 0) this.#assembler.add(chunk);
    controller?.enqueue(chunk);
  }

  /** The reply as text, with what was billed; undefined if it was too large, or a choice has no end. */
  text(billed: Outcome['usage']): string | undefined {
    if (this.#characters_left < 0) return undefined;
    const { prompt_tokens, completion_tokens, cached_tokens, completion_details, cache_creation_tokens } =
      billed;
    const usage = usageOf(
      prompt_tokens,
      completion_tokens,
      cached_tokens,
      completion_details,
      cache_creation_tokens,
    );
    try {
      return JSON.stringify({ ...this.#assembler.reply(), usage });
    } catch {
      return undefined;
    }
  }
}

/** The reply in such a text; undefined for anything else. */
export function replyIn(text = ''): Completion | undefined {
  try {
    const { choices, usage } = JSON.parse(text);
    return Array.isArray(choices) ? { choices, usage } : undefined;
  } catch {
    return undefined;
  }
}
